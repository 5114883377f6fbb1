// A look-back over tiles whose flag is polled by relaxed loads: the prefix behind it may be stale.
// exam: Race grid=6 block=32
// arg flag=u32[6]:zero prefix=u32[6]:none out=u32[6]:none
extern "C" __global__ void k(unsigned *flag, unsigned *prefix, unsigned *out) {
    if (threadIdx.x) return;
    unsigned b = blockIdx.x, before = 0;
    if (b) {
        unsigned seen;
        do asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag + b - 1) : "memory"); while (!seen);
        before = prefix[b - 1];
    }
    prefix[b] = before + b;
    asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(flag + b) : "memory");
    out[b] = before;
}
