// The lower lanes meet; the upper ones, which read what those wrote, do not take part.
extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ float As[32];
    As[threadIdx.x] = A[threadIdx.x];
    if (threadIdx.x < 16) __syncwarp(0xffff);
    C[threadIdx.x] = As[31 - threadIdx.x];
}
