// Two producer warps only arrive, with a count of 96; the consumer warp waits once and reads what both wrote.
// exam: right grid=2 block=96
// arg out=u32[64]:none
// gives out = (i%32)*3 + 1000
extern "C" __global__ void k(unsigned *out) {
    __shared__ unsigned a[64];
    int t = threadIdx.x;
    if (t >= 32) {
        a[t - 32] = t < 64 ? t - 32 : 2 * (t - 64) + 1000;
        asm volatile("barrier.cta.arrive 5, 96;" ::: "memory");
    } else {
        asm volatile("barrier.cta.sync 5, 96;" ::: "memory");
        out[blockIdx.x * 32 + t] = a[t] + a[32 + t];
    }
}
