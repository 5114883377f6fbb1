// The barrier stands inside the guard: only half of the lanes reach it.
extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ float As[16];
    if (threadIdx.x < 16) {
        As[threadIdx.x] = A[threadIdx.x];
        __syncthreads();
        C[threadIdx.x] = As[15 - threadIdx.x];
    }
    C[threadIdx.x + 32] = 1;
}
