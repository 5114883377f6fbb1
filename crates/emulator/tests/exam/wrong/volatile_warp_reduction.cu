// The last steps of a reduction by volatile shared memory alone, as it was right before Volta.
// exam: Race grid=1 block=64
// arg in=u32[64]:ramp out=u32[1]:none
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
    __shared__ volatile unsigned a[64];
    unsigned t = threadIdx.x;
    a[t] = in[t];
    __syncthreads();
    if (t < 32) {
        a[t] += a[t + 32];
        a[t] += a[t + 16];
        a[t] += a[t + 8];
        a[t] += a[t + 4];
        a[t] += a[t + 2];
        a[t] += a[t + 1];
    }
    if (t == 0) *out = a[0];
}
