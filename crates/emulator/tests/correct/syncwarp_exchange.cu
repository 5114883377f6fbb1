// Lanes of a warp exchange values through shared memory, ordered by __syncwarp().
extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ float As[64];
    int lane = threadIdx.x % 32, warp = threadIdx.x - lane;
    float value = A[threadIdx.x];
    for (int round = 0; round < 3; ++round) {
        As[threadIdx.x] = value;
        __syncwarp();
        value += As[warp + (lane + 1) % 32];
        __syncwarp();
    }
    C[threadIdx.x] = value;
}
