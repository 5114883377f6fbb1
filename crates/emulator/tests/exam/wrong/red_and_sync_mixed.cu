// One warp is at barrier.red, the other at barrier.sync of the same barrier: the manual forbids to mix them.
// exam: Barrier grid=1 block=64
// arg out=u32[64]:none
extern "C" __global__ void k(unsigned *out) {
    unsigned t = threadIdx.x, n = 0;
    if (t < 32)
        asm volatile("{ .reg .pred p; setp.eq.u32 p, %1, 0; barrier.cta.red.popc.aligned.u32 %0, 1, 64, p; }" : "=r"(n) : "r"(t % 2) : "memory");
    else
        asm volatile("barrier.cta.sync.aligned 1, 64;" ::: "memory");
    out[t] = n;
}
