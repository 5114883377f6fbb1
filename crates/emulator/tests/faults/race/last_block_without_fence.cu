// The last block to arrive adds up all parts; nothing but the counter orders it after the others.
__device__ int arrived;
__device__ float partial[4];

extern "C" __global__ void kernel(const float* A, float* C) {
    if (threadIdx.x != 0) return;
    partial[blockIdx.x] = A[blockIdx.x];
    if (atomicAdd(&arrived, 1) == gridDim.x - 1) {
        __threadfence();
        float sum = 0;
        for (int i = 0; i < gridDim.x; ++i) sum += partial[i];
        *C = sum;
    }
}
