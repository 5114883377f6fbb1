// Two pairs of warps use barrier 1 at once, each for 64 threads: a warp of each pair may complete it.
extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ float tile[128];
    int t = threadIdx.x;
    tile[t] = A[t];
    asm volatile("bar.sync 1, 64;" ::: "memory");
    C[t] = tile[t ^ 32];
}
