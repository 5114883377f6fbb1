// Threads of a block exchange values through global memory, with a barrier between.
extern "C" __global__ void kernel(const float* A, float* C) {
    C[threadIdx.x] = A[threadIdx.x];
    __syncthreads();
    float other = C[63 - threadIdx.x];
    __syncthreads();
    C[threadIdx.x] = other;
}
