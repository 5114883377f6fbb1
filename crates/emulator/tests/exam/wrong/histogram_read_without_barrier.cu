// Shared bins are counted by atomics and read without a barrier behind.
// exam: Race grid=1 block=128
// arg in=u32[128]:ramp out=u32[16]:none
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
    __shared__ unsigned a[16];
    unsigned t = threadIdx.x;
    if (t < 16) a[t] = 0;
    __syncthreads();
    atomicAdd(&a[in[t] % 16], 1);
    if (t < 16) out[t] = a[t];
}
