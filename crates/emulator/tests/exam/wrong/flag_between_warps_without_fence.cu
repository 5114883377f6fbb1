// One warp tells another by a volatile flag in shared memory; nobody fences.
// exam: Race grid=1 block=64
// arg out=u32[32]:none
extern "C" __global__ void k(unsigned *out) {
    __shared__ unsigned a[32];
    __shared__ volatile unsigned flag[32];
    unsigned t = threadIdx.x;
    if (t < 32) flag[t] = 0;
    __syncthreads();
    if (t < 32) {
        asm volatile("st.shared.u32 [%0], %1;" ::"r"((unsigned)__cvta_generic_to_shared(a + t)), "r"(3 * t) : "memory");
        flag[t] = 1;
    } else {
        unsigned v;
        while (!flag[t - 32]) {}
        asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"((unsigned)__cvta_generic_to_shared(a + t - 32)) : "memory");
        out[t - 32] = v;
    }
}
