// Two warps meet at one barrier, one with a count of 64, one with a count of 96.
// exam: Barrier grid=1 block=96
// arg out=u32[96]:none
extern "C" __global__ void k(unsigned *out) {
    unsigned t = threadIdx.x, n = t < 32 ? 64 : 96;
    asm volatile("bar.sync 3, %0;" ::"r"(n) : "memory");
    out[t] = t;
}
