// The number of steps is rounded down, and no edge has a guard.
constexpr int SIDE = 4;

extern "C" __global__ void kernel(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ float As[SIDE][SIDE];
    __shared__ float Bs[SIDE][SIDE];
    int ty = threadIdx.y, tx = threadIdx.x;
    int row = blockIdx.y * SIDE + ty, col = blockIdx.x * SIDE + tx;
    float value = 0;
    for (int step = 0; step < K / SIDE; ++step) {
        As[ty][tx] = A[row * K + step * SIDE + tx];
        Bs[ty][tx] = B[(step * SIDE + ty) * N + col];
        __syncthreads();
        for (int e = 0; e < SIDE; ++e) value += As[ty][e] * Bs[e][tx];
        __syncthreads();
    }
    C[row * N + col] = value;
}
