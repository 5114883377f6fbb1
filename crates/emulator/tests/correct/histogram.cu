// Atomic counts in shared memory, then in global memory.
extern "C" __global__ void kernel(const int* A, int* C) {
    __shared__ int counts[8];
    if (threadIdx.x < 8) counts[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&counts[A[blockIdx.x * blockDim.x + threadIdx.x] & 7], 1);
    __syncthreads();
    if (threadIdx.x < 8) atomicAdd(&C[threadIdx.x], counts[threadIdx.x]);
}
