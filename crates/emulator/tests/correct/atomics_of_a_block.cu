// Each block counts at a place of its own, so that atomics of block scope do.
__device__ int counts[2];

extern "C" __global__ void kernel(const float* A, float* C) {
    atomicAdd_block(&counts[blockIdx.x], (int)A[threadIdx.x] % 2);
    __syncthreads();
    C[blockIdx.x * 32 + threadIdx.x % 32] = counts[blockIdx.x];
}
