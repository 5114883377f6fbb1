// Lab report 10 (the book's sources): the global-memory kernel. Wrong.
//
// C comes first, and the sizes are named otherwise: A is m x n, B is n x k, C is m x k.
// The guard lets one row and one column too many through: `<=` should be `<`.
//
// lab try: --dtype f64 --args C,A,B,M,K,N --grid cdiv(N,16),cdiv(M,16) --block 16,16

extern "C" __global__ void multiply_global(double* C, const double* A, const double* B, int m, int n, int k) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row <= m && col <= k) {
        double sum = 0.0;
        for (int i = 0; i < n; ++i) {
            sum += A[row * n + i] * B[i * k + col];
        }
        C[row * k + col] = sum;
    }
}
