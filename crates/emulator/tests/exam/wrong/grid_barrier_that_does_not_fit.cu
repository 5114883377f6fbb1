// 4,096 blocks with 46 KiB of shared memory each wait for each other: no GPU holds them all at once.
// exam: NoProgress|Barrier|Race grid=4096 block=32
// arg arrived=u32[1]:zero out=u32[4096]:none
extern "C" __global__ void k(unsigned *arrived, unsigned *out) {
    __shared__ volatile unsigned filler[11776];
    filler[threadIdx.x] = threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(arrived) : "memory");
        unsigned seen;
        do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(arrived) : "memory");
        while (seen < gridDim.x);
        out[blockIdx.x] = filler[31];
    }
}
