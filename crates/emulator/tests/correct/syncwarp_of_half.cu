// Only the lanes that the mask names exchange values.
extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ float As[32];
    if (threadIdx.x < 16) {
        As[threadIdx.x] = A[threadIdx.x];
        __syncwarp(0x0000ffff);
        C[threadIdx.x] = As[15 - threadIdx.x];
    } else {
        C[threadIdx.x] = A[threadIdx.x];
    }
}
