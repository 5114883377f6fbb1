// Counts in shared memory, by atomics; a barrier lets everyone read them.
extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ int counts[8];
    if (threadIdx.x < 8) counts[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&counts[(int)A[threadIdx.x] % 8], 1);
    __syncthreads();
    if (threadIdx.x < 32) C[threadIdx.x] = counts[threadIdx.x % 8];
}
