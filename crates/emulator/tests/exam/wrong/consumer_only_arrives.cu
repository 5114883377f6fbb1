// The consumer arrives, too, instead of waiting: bar.arrive does not hold it back.
// exam: Race grid=1 block=64
// arg out=u32[32]:none
extern "C" __global__ void k(unsigned *out) {
    __shared__ unsigned a[32];
    unsigned t = threadIdx.x;
    if (t < 32) {
        a[t] = t;
        asm volatile("bar.sync 1, 64;" ::: "memory");
    } else {
        asm volatile("bar.arrive 1, 64;" ::: "memory");
        out[t - 32] = a[t - 32];
    }
}
