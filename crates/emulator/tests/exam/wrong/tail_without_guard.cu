// 100 elements by four blocks of 32 threads, without a guard at the end.
// exam: OutOfBounds grid=4 block=32
// arg in=u32[100]:ramp out=u32[100]:none
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
    unsigned t = blockIdx.x * 32 + threadIdx.x;
    out[t] = in[t];
}
