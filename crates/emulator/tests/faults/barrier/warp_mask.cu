// The mask names all lanes, and half of them wait elsewhere.
extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ float As[32];
    if (threadIdx.x < 16) {
        As[threadIdx.x] = A[threadIdx.x];
        __syncwarp(0xffffffff);
        C[threadIdx.x] = As[15 - threadIdx.x];
    }
    __syncthreads();
}
