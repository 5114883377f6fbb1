// A block of 50 threads: the last warp has 18 lanes, and all of them reach the barrier.
extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ float As[50];
    As[threadIdx.x] = A[threadIdx.x];
    __syncthreads();
    C[threadIdx.x] = As[49 - threadIdx.x];
}
