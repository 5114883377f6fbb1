// The writer fences; the reader spins on a relaxed load and then reads the data without a fence.
// exam: Race grid=2 block=32
// arg data=u32[1]:none flag=u32[1]:zero out=u32[1]:none
extern "C" __global__ void k(unsigned *data, unsigned *flag, unsigned *out) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        *data = 4711;
        __threadfence();
        atomicExch(flag, 1);
    } else {
        unsigned seen;
        do asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory"); while (!seen);
        *out = *data;
    }
}
