// Data, then a relaxed flag by an atomic, without a fence in between; the reader does everything right.
// exam: Race grid=2 block=32
// arg data=u32[1]:none flag=u32[1]:zero out=u32[1]:none
extern "C" __global__ void k(unsigned *data, unsigned *flag, unsigned *out) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        *data = 4711;
        atomicExch(flag, 1);
    } else {
        unsigned seen;
        do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory"); while (!seen);
        *out = *data;
    }
}
