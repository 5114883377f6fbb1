// A naive product in f64 whose guard lets one row and one column too many through.
extern "C" __global__ void kernel(double* C, double* A, double* B, int m, int n, int k) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row <= m && col <= k) {
        double value = 0;
        for (int i = 0; i < n; ++i) {
            value += A[row * n + i] * B[i * k + col];
        }
        C[row * k + col] = value;
    }
}
