// Many threads write the same value to one place, in shared and in global memory.
extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ int found;
    found = 1;
    __syncthreads();
    C[blockIdx.x * blockDim.x + threadIdx.x] = A[threadIdx.x] + found;
    C[128] = 7;
}
