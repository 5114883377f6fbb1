// Shared bins are cleared by plain stores, and counted at once.
// exam: Race grid=1 block=128
// arg in=u32[128]:ramp out=u32[16]:none
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
    __shared__ unsigned a[16];
    unsigned t = threadIdx.x;
    if (t < 16) a[t] = 0;
    atomicAdd(&a[in[t] % 16], 1);
    __syncthreads();
    if (t < 16) out[t] = a[t];
}
