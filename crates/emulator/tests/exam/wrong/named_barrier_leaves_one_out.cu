// Warps 0 and 1 meet at a barrier of 64 threads; warp 2 reads what they wrote without having been there.
// exam: Race grid=1 block=96
// arg out=u32[96]:none
extern "C" __global__ void k(unsigned *out) {
    __shared__ unsigned a[64];
    unsigned t = threadIdx.x;
    if (t < 64) {
        a[t] = t;
        asm volatile("bar.sync 1, 64;" ::: "memory");
        out[t] = a[63 - t];
    } else {
        out[t] = a[t - 64];
    }
}
