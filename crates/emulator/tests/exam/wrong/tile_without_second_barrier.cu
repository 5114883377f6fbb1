// One tile, filled and read in turn, with a barrier behind the filling only.
// exam: Race grid=1 block=64
// arg in=u32[512]:ramp out=u32[64]:none
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
    __shared__ unsigned a[64];
    unsigned t = threadIdx.x, sum = 0;
    for (int s = 0; s < 8; ++s) {
        a[t] = in[64 * s + t];
        __syncthreads();
        sum += a[63 - t];
    }
    out[t] = sum;
}
