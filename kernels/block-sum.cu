// Sums of blocks, then the sum of those: two launches in a row on the same buffers.
//
// lab sanitize: --set n=5000 --block 256 --expect total=12497500
// lab sanitize: --launch block_sum --grid cdiv(n,256) --arg in:i32[n]=range --arg parts:i32[cdiv(n,256)] --arg n
// lab sanitize: --launch block_sum --grid 1 --arg parts --arg total:i32[1] --arg cdiv(n,256)

#define THREADS 256

extern "C" __global__ void block_sum(const int* in, int* out, int n) {
    __shared__ int part[THREADS];
    int t = threadIdx.x;
    int i = blockIdx.x * THREADS + t;
    part[t] = i < n ? in[i] : 0;
    __syncthreads();  // the block's numbers are there
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (t < half) part[t] += part[t + half];
        __syncthreads();  // half as many sums are left
    }
    if (t == 0) out[blockIdx.x] = part[0];
}
