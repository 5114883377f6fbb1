// barrier.red.popc on a named barrier, for the first two of three warps.
// exam: right grid=1 block=96
// arg out=u32[96]:none
// gives out = 22 if i < 64 else 0
extern "C" __global__ void k(unsigned *out) {
    unsigned t = threadIdx.x, n = 0;
    if (t < 64)
        asm volatile("{ .reg .pred p; setp.eq.u32 p, %1, 0; barrier.cta.red.popc.aligned.u32 %0, 4, 64, p; }" : "=r"(n) : "r"(t % 3) : "memory");
    out[t] = n;
}
