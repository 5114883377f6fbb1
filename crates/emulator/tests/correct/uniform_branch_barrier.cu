// A barrier inside a branch that all threads of the block take.
extern "C" __global__ void kernel(const float* A, float* C, int n) {
    __shared__ float As[64];
    As[threadIdx.x] = A[threadIdx.x];
    if (n > 10) {
        __syncthreads();
        C[threadIdx.x] = As[63 - threadIdx.x];
    } else {
        C[threadIdx.x] = As[threadIdx.x];
    }
}
