// Sums of blocks, with the barrier left out where one warp seems to be enough. Wrong: lanes of a warp need not step together.
//
// lab sanitize: --set n=5000 --grid cdiv(n,256) --block 256
// lab sanitize: --arg in:f32[n]=random --arg out:f32[cdiv(n,256)] --arg n

#define THREADS 256

extern "C" __global__ void block_sum(const float* in, float* out, int n) {
    __shared__ float part[THREADS];
    int t = threadIdx.x;
    int i = blockIdx.x * THREADS + t;
    part[t] = i < n ? in[i] : 0.0f;
    __syncthreads();  // the block's numbers are there
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (t < half) part[t] += part[t + half];
        if (half > 32) __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = part[0];
}
