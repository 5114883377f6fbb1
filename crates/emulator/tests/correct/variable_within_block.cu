// A variable of the module that every block has a part of: written by one thread, read by another after a barrier.
__device__ float parts[128];

extern "C" __global__ void kernel(const float* A, float* C) {
    float* part = parts + blockIdx.x * 64;
    part[threadIdx.x] = A[blockIdx.x * 64 + threadIdx.x];
    __syncthreads();
    C[blockIdx.x * 64 + threadIdx.x] = part[63 - threadIdx.x];
}
