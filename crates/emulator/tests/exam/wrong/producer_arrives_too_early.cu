// The producer arrives before it writes the last element.
// exam: Race grid=1 block=64
// arg out=u32[32]:none
extern "C" __global__ void k(unsigned *out) {
    __shared__ volatile unsigned a[32];
    unsigned t = threadIdx.x;
    if (t < 32) {
        if (t) a[t] = t;
        asm volatile("bar.arrive 1, 64;" ::: "memory");
        if (!t) a[0] = 5;
    } else {
        asm volatile("bar.sync 1, 64;" ::: "memory");
        out[t - 32] = a[t - 32];
    }
}
