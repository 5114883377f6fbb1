// The fence before the flag is for the threads of its own block only.
__device__ volatile int ready;
__device__ float message[32];

extern "C" __global__ void kernel(const float* A, float* C) {
    if (blockIdx.x == 0) {
        message[threadIdx.x] = A[threadIdx.x];
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence_block();
            ready = 1;
        }
    } else {
        if (threadIdx.x == 0) {
            while (ready == 0) {
            }
            __threadfence();
        }
        __syncthreads();
        C[threadIdx.x] = message[31 - threadIdx.x];
    }
}
