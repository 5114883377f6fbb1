// A grid barrier that counts up and never down: red.release, then ld.acquire until all have come.
// exam: right grid=12 block=32
// arg arrived=u32[1]:zero a=u32[384]:none out=u32[384]:none
// gives out = 383 - i
extern "C" __global__ void k(unsigned *arrived, unsigned *a, unsigned *out) {
    unsigned t = blockIdx.x * 32 + threadIdx.x;
    a[t] = t;
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(arrived) : "memory");
        unsigned seen;
        do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(arrived) : "memory");
        while (seen < gridDim.x);
    }
    __syncthreads();
    out[t] = a[383 - t];
}
