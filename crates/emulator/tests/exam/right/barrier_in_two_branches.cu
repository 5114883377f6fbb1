// The halves of a warp meet at the same barrier from two branches: barrier.sync without .aligned allows that.
// exam: right grid=1 block=64
// arg out=u32[64]:none
// gives out = (i^16) + (1 if (i^16)%32<16 else 2)
extern "C" __global__ void k(unsigned *out) {
    __shared__ unsigned a[64];
    unsigned t = threadIdx.x;
    if (t % 32 < 16) {
        a[t] = t + 1;
        asm volatile("barrier.sync 0;" ::: "memory");
        out[t] = a[t ^ 16];
    } else {
        a[t] = t + 2;
        asm volatile("barrier.sync 0;" ::: "memory");
        out[t] = a[t ^ 16];
    }
}
