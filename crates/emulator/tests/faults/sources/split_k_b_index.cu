// The step along B is the square of its width, and the inner loop has another length than the tile.
constexpr int SIDE = 3, MATRIX = 4;

extern "C" __global__ void kernel(const float* A, const float* B, float* C, int width, int b_width) {
    int row = threadIdx.y, col = threadIdx.x;
    __shared__ float As[MATRIX][MATRIX];
    __shared__ float Bs[MATRIX][MATRIX];
    float value = 0;
    for (int i = 0; i < width / SIDE; ++i) {
        As[row][col] = A[row * width + i * SIDE + col];
        Bs[row][col] = B[i * b_width * b_width + row * b_width + col];
        __syncthreads();
        for (int e = 0; e < SIDE; ++e) value += As[row][e] * Bs[e][col];
        __syncthreads();
    }
    C[row * b_width + col] = value;
}
