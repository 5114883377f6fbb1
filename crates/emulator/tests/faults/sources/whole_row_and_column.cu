// One-dimensional shared arrays: every row of the block writes the same words of A's.
constexpr int SIDE = 8;

extern "C" __global__ void kernel(double* C, double* A, double* B, int m, int n, int k) {
    __shared__ double As[SIDE];
    __shared__ double Bs[SIDE];
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    double value = 0;
    for (int i = 0; i < (n + SIDE - 1) / SIDE; ++i) {
        As[threadIdx.x] = row < m && i * SIDE + threadIdx.x < n ? A[row * n + i * SIDE + threadIdx.x] : 0;
        Bs[threadIdx.y] = col < k && i * SIDE + threadIdx.y < n ? B[(i * SIDE + threadIdx.y) * k + col] : 0;
        __syncthreads();
        for (int j = 0; j < SIDE; ++j) value += As[j] * Bs[j];
        __syncthreads();
    }
    if (row < m && col < k) C[row * k + col] = value;
}
