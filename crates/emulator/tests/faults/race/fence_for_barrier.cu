// A counter in the kernel, and a fence where a barrier should be: it waits for nobody.
extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ float As[64];
    __shared__ int count;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    As[threadIdx.x] = A[threadIdx.x];
    atomicAdd(&count, 1);
    __threadfence_block();
    C[threadIdx.x] = As[63 - threadIdx.x];
}
