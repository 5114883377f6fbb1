// Full is signalled by arrive and sync, but nobody tells the producer that the buffer is empty again.
// exam: Race|Barrier grid=1 block=64
// arg out=u32[64]:none
extern "C" __global__ void k(unsigned *out) {
    __shared__ unsigned a[32];
    unsigned t = threadIdx.x, lane = t % 32;
    for (int round = 0; round < 2; ++round) {
        if (t < 32) {
            a[lane] = lane + round;
            asm volatile("bar.arrive 1, 64;" ::: "memory");
        } else {
            asm volatile("bar.sync 1, 64;" ::: "memory");
            out[round * 32 + lane] = a[31 - lane];
        }
    }
}
