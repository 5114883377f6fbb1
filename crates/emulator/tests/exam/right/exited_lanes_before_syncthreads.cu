// Single lanes leave early, inside a warp; the rest of the block meets at __syncthreads as often as it likes.
// exam: right grid=1 block=64
// arg out=u32[64]:zero n=i32:50
// gives out = (49 - i)*2 if i < 50 else 0
extern "C" __global__ void k(unsigned *out, int n) {
    __shared__ unsigned a[64];
    int t = threadIdx.x;
    if (t >= n) return;
    a[t] = t;
    __syncthreads();
    unsigned v = a[n - 1 - t];
    __syncthreads();
    a[t] = v * 2;
    __syncthreads();
    out[t] = a[t];
}
