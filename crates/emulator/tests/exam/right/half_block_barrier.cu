// Only the first two warps of four share an array, and only they meet at a barrier with a count of 64; the others go on.
// exam: right grid=1 block=128
// arg out=u32[128]:none
// gives out = 63 - i if i < 64 else i
extern "C" __global__ void k(unsigned *out) {
    __shared__ unsigned a[64];
    unsigned t = threadIdx.x;
    if (t < 64) {
        a[t] = t;
        asm volatile("bar.sync 3, 64;" ::: "memory");
        out[t] = a[63 - t];
    } else {
        out[t] = t;
    }
}
