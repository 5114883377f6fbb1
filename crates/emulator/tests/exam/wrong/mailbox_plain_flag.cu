// The flag is read and written by plain accesses; fences stand where they should.
// exam: Race grid=2 block=32
// arg data=u32[1]:none flag=u32[1]:zero out=u32[1]:none
extern "C" __global__ void k(unsigned *data, unsigned *flag, unsigned *out) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        *data = 4711;
        __threadfence();
        *flag = 1;
    } else {
        unsigned seen;
        do asm volatile("ld.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory"); while (!seen);
        __threadfence();
        *out = *data;
    }
}
