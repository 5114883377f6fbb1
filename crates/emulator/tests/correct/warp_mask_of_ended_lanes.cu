// The mask names all lanes, and those that are not here have ended.
extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ float As[32];
    if (threadIdx.x >= 16) return;
    As[threadIdx.x] = A[threadIdx.x];
    __syncwarp(0xffffffff);
    float sum = As[15 - threadIdx.x];
    sum += __shfl_xor_sync(0xffffffff, sum, 1);
    C[threadIdx.x] = sum + __popc(__ballot_sync(0xffffffff, sum > 0));
}
