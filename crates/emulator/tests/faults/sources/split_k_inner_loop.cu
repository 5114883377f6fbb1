// The inner loop runs over the matrix's size, not the tile's: it reads beyond both tiles.
constexpr int SIDE = 3, MATRIX = 4;

extern "C" __global__ void kernel(const float* A, const float* B, float* C, int width) {
    int row = threadIdx.y, col = threadIdx.x;
    __shared__ float As[SIDE][SIDE];
    __shared__ float Bs[SIDE][SIDE];
    float value = 0;
    for (int i = 0; i < width / SIDE; ++i) {
        As[row][col] = A[row * width + i * SIDE + col];
        Bs[row][col] = B[(i * SIDE + row) * MATRIX + col];
        __syncthreads();
        for (int e = 0; e < MATRIX; ++e) value += As[row][e] * Bs[e][col];
        __syncthreads();
    }
    C[row * MATRIX + col] = value;
}
