// The value travels through another lane before it is used.
extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ float As[32];
    if (threadIdx.x < 16) As[threadIdx.x] = A[threadIdx.x];
    __syncthreads();
    float other = __shfl_xor_sync(0xffffffff, As[threadIdx.x], 16);
    C[threadIdx.x] = threadIdx.x < 16 ? other + 1 : 0;
}
