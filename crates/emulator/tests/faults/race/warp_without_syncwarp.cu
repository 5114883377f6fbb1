// Lanes of one warp exchange values, and count on running in step.
extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ float As[32];
    As[threadIdx.x] = A[threadIdx.x];
    C[threadIdx.x] = As[31 - threadIdx.x];
}
