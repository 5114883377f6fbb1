// Counts in shared memory that nobody set to zero.
extern "C" __global__ void kernel(const int* A, int* C) {
    __shared__ int counts[8];
    atomicAdd(&counts[A[threadIdx.x] & 7], 1);
    __syncthreads();
    if (threadIdx.x < 8) C[threadIdx.x] = 1 + counts[threadIdx.x];
}
