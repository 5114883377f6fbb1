// Two pairs of warps use barrier 1, each for 64 threads, one pair after the other: a barrier of the block lies between.
extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ float tile[128];
    int t = threadIdx.x;
    tile[t] = A[t];
    if (t < 64) asm volatile("bar.sync 1, 64;" ::: "memory");
    __syncthreads();  // the first pair is through
    if (t >= 64) asm volatile("bar.sync 1, 64;" ::: "memory");
    C[t] = tile[t ^ 32];
}
