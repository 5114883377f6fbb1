// Each block leaves its part in memory of the module, and the last one adds them up. It is counted without an atomic
// operation: two blocks may both be the last, or none.
__device__ float partial[64];
__device__ int arrived;

extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ bool last;
    partial[blockIdx.x * 32 + threadIdx.x] = A[blockIdx.x * 32 + threadIdx.x];
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        int before = arrived;
        arrived = before + 1;
        last = before == gridDim.x - 1;
    }
    __syncthreads();
    if (last) C[threadIdx.x] = partial[threadIdx.x] + partial[32 + threadIdx.x];
}
