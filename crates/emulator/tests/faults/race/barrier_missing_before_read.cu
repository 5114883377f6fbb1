// Reverses a block's elements, and reads before everyone has written.
extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ float As[64];
    As[threadIdx.x] = A[threadIdx.x];
    C[threadIdx.x] = As[63 - threadIdx.x];
}
