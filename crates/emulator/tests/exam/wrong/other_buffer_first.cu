// A double buffer whose first step reads the buffer that is filled in the second one.
// exam: Uninitialised grid=1 block=32
// arg in=u32[128]:ramp out=u32[32]:none
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
    __shared__ unsigned a[2][32];
    unsigned t = threadIdx.x, sum = 0;
    for (int s = 0; s < 4; ++s) {
        a[s % 2][t] = in[32 * s + t];
        __syncthreads();
        sum += a[(s + 1) % 2][31 - t];
        __syncthreads();
    }
    out[t] = sum;
}
