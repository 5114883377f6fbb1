// Each warp runs the loop with the barrier as often as its number says, and all meet at another barrier behind it.
// exam: Barrier grid=1 block=96
// arg out=u32[96]:none
extern "C" __global__ void k(unsigned *out) {
    __shared__ unsigned a[96];
    unsigned t = threadIdx.x;
    for (unsigned i = 0; i <= t / 32; ++i) {
        a[t] = i;
        asm volatile("bar.sync 1;" ::: "memory");
    }
    asm volatile("bar.sync 2;" ::: "memory");
    out[t] = a[95 - t];
}
