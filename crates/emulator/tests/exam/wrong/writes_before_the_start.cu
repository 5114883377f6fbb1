// The first thread writes at index -1.
// exam: OutOfBounds grid=2 block=32
// arg in=u32[64]:ramp out=u32[64]:none
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
    int t = blockIdx.x * 32 + threadIdx.x;
    out[t - 1] = in[t];
}
