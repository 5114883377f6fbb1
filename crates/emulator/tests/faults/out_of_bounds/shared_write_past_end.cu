// The launch has more threads than the array has elements.
extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ float As[32];
    As[threadIdx.x] = A[threadIdx.x];
    __syncthreads();
    C[threadIdx.x] = As[63 - threadIdx.x];
}
