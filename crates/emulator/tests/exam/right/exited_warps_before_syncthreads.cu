// Warps that have nothing to do leave before the barrier: it waits for threads that have not exited only.
// exam: right grid=2 block=128
// arg out=u32[128]:zero n=i32:40
// gives out = ((39 - i%64) + 64*(i//64)) if i%64 < 40 else 0
extern "C" __global__ void k(unsigned *out, int n) {
    __shared__ unsigned a[64];
    int t = threadIdx.x;
    if (t >= 64) return;
    a[t] = t;
    __syncthreads();
    if (t < n) out[blockIdx.x * 64 + t] = a[n - 1 - t] + blockIdx.x * 64;
}
