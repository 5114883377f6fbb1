// The sum of a warp as it was written before 2017: volatile keeps the accesses, and does not keep the lanes in step.
extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ volatile float sums[64];
    int i = threadIdx.x;
    sums[i] = A[i];
    __syncthreads();
    if (i < 32) {
        sums[i] += sums[i + 32];
        sums[i] += sums[i + 16];
        sums[i] += sums[i + 8];
        sums[i] += sums[i + 4];
        sums[i] += sums[i + 2];
        sums[i] += sums[i + 1];
        if (i == 0) *C = sums[0];
    }
}
