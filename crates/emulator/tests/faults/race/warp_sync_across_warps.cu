// A warp-level barrier does not wait for the other warp.
extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ float As[64];
    As[threadIdx.x] = A[threadIdx.x];
    __syncwarp();
    C[threadIdx.x] = As[63 - threadIdx.x];
}
