// The release has .cta scope, and the acquire, in another block, .gpu scope.
// exam: Race grid=2 block=32
// arg data=u32[1]:none flag=u32[1]:zero out=u32[1]:none
extern "C" __global__ void k(unsigned *data, unsigned *flag, unsigned *out) {
    if (threadIdx.x) return;
    if (blockIdx.x == 1) {
        *data = 4711;
        asm volatile("st.release.cta.global.u32 [%0], 1;" ::"l"(flag) : "memory");
    } else {
        unsigned seen;
        do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory"); while (!seen);
        *out = *data;
    }
}
