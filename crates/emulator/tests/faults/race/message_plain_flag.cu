// The flag is read as it should be, and stored plainly.
__device__ int ready;
__device__ float message[32];

extern "C" __global__ void kernel(const float* A, float* C) {
    if (blockIdx.x == 0) {
        message[threadIdx.x] = A[threadIdx.x];
        __syncthreads();
        __threadfence();
        if (threadIdx.x == 0) ready = 1;
    } else {
        if (threadIdx.x == 0) {
            while (*(volatile int*)&ready == 0) {
            }
            __threadfence();
        }
        __syncthreads();
        C[threadIdx.x] = message[31 - threadIdx.x];
    }
}
