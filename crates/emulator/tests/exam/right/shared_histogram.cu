// A histogram in shared memory: zeroed, barrier, atomics, barrier, added to the global one by atomics.
// exam: right grid=3 block=96
// arg in=u32[288]:rand bins=u32[16]:zero
// gives bins = sum(1 for v in IN if v%16==i)
extern "C" __global__ void k(const unsigned *in, unsigned *bins) {
    __shared__ unsigned a[16];
    unsigned t = threadIdx.x;
    if (t < 16) a[t] = 0;
    __syncthreads();
    atomicAdd(&a[in[blockIdx.x * 96 + t] % 16], 1);
    __syncthreads();
    if (t < 16) atomicAdd(&bins[t], a[t]);
}
