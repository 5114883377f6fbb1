// Lanes past the end leave; the others exchange by shared memory and __syncwarp with the full mask.
// exam: right grid=1 block=32
// arg out=u32[32]:zero n=i32:21
// gives out = 20 - i if i < 21 else 0
extern "C" __global__ void k(unsigned *out, int n) {
    __shared__ unsigned a[32];
    int t = threadIdx.x;
    if (t >= n) return;
    a[t] = t;
    __syncwarp();
    out[t] = a[n - 1 - t];
}
