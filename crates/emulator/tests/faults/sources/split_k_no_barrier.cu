// A product in steps along K: the next step overwrites what others still read.
constexpr int SIDE = 3;

extern "C" __global__ void kernel(const float* A, const float* B, float* C, int width) {
    int row = threadIdx.y, col = threadIdx.x;
    __shared__ float As[SIDE][SIDE];
    __shared__ float Bs[SIDE][SIDE];
    float value = 0;
    for (int i = 0; i < width / SIDE; ++i) {
        As[row][col] = A[row * width + i * SIDE + col];
        Bs[row][col] = B[(i * SIDE + row) * SIDE + col];
        __syncthreads();
        for (int e = 0; e < SIDE; ++e) value += As[row][e] * Bs[e][col];
    }
    C[row * SIDE + col] = value;
}
