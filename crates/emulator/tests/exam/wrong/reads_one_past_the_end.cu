// A difference of neighbours reads one element past the end in the last thread.
// exam: OutOfBounds grid=2 block=32
// arg in=u32[64]:ramp out=u32[64]:none
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
    unsigned t = blockIdx.x * 32 + threadIdx.x;
    out[t] = in[t + 1] - in[t];
}
