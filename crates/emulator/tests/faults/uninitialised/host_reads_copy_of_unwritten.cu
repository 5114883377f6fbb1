// Copying what nobody wrote is allowed; reading the copy is not.
extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ float As[32];
    if (threadIdx.x < 16) As[threadIdx.x] = A[threadIdx.x];
    __syncthreads();
    C[threadIdx.x] = As[threadIdx.x];
}
