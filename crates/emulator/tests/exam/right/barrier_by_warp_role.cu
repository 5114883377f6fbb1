// Whole warps take different branches, and each branch has its own bar.sync of the same barrier.
// exam: right grid=1 block=128
// arg out=u32[128]:none
// gives out = (i+64)%128
extern "C" __global__ void k(unsigned *out) {
    __shared__ unsigned a[128];
    unsigned t = threadIdx.x;
    a[t] = t;
    if (t / 32 % 2) {
        asm volatile("bar.sync 0;" ::: "memory");
        out[t] = a[(t + 64) % 128];
    } else {
        asm volatile("bar.sync 0;" ::: "memory");
        out[t] = a[(t + 64) % 128];
    }
}
