// Warp 0 writes a cell; after a barrier that warp 2 skips, warp 1 writes it again and then meets warp 2, which reads it.
// exam: Race grid=1 block=96
// arg out=u32[32]:none
extern "C" __global__ void k(unsigned *out) {
    __shared__ volatile unsigned a[64];
    unsigned t = threadIdx.x, lane = t % 32;
    if (t < 32) {
        a[lane + 32] = 1;
        a[lane] = 2;
    } else if (t < 64) {
        a[lane] = 3;
        asm volatile("bar.sync 2, 64;" ::: "memory");
    } else {
        asm volatile("bar.sync 2, 64;" ::: "memory");
        out[lane] = a[lane];
    }
}
