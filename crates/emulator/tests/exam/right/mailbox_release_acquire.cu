// One thread passes a value to a thread of another block by st.release and ld.acquire at gpu scope.
// exam: right grid=2 block=32
// arg data=u32[1]:none flag=u32[1]:zero out=u32[1]:none
// gives out = 4711
extern "C" __global__ void k(unsigned *data, unsigned *flag, unsigned *out) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        *data = 4711;
        asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(flag) : "memory");
    } else {
        unsigned seen;
        do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory"); while (!seen);
        *out = *data;
    }
}
