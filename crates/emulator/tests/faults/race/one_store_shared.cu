// Two lanes write different values to one element of shared memory.
extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ float As[16];
    As[threadIdx.x / 2] = A[threadIdx.x];
    __syncthreads();
    C[threadIdx.x] = As[threadIdx.x / 2];
}
