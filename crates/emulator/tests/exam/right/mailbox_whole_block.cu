// A whole block's writes are released by one thread after a barrier, and acquired by one thread of the reader before a barrier.
// exam: right grid=2 block=128
// arg data=u32[128]:none flag=u32[1]:zero out=u32[128]:none
// gives out = (127-i)**2
extern "C" __global__ void k(unsigned *data, unsigned *flag, unsigned *out) {
    unsigned t = threadIdx.x;
    if (blockIdx.x == 1) {
        data[t] = t * t;
        __syncthreads();
        if (t == 0) asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(flag) : "memory");
    } else {
        if (t == 0) {
            unsigned seen;
            do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory"); while (!seen);
        }
        __syncthreads();
        out[t] = data[127 - t];
    }
}
