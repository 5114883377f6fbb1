// A sum over the block: shuffles within warps, one word of shared memory per warp between them.
extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ float sums[32];
    float sum = A[threadIdx.x];
    for (int by = 16; by > 0; by /= 2) sum += __shfl_xor_sync(0xffffffff, sum, by);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = threadIdx.x < blockDim.x / 32 ? sums[threadIdx.x] : 0;
        for (int by = 16; by > 0; by /= 2) sum += __shfl_xor_sync(0xffffffff, sum, by);
        if (threadIdx.x == 0) *C = sum;
    }
}
