// Computes with what nobody wrote, and throws the result away.
extern "C" __global__ void kernel(const float* A, float* C, int n) {
    __shared__ float As[64];
    if (threadIdx.x < n) As[threadIdx.x] = A[threadIdx.x];
    __syncthreads();
    float a = 2 * As[threadIdx.x] + 1;
    C[threadIdx.x] = threadIdx.x < n ? a : 0;
}
