// As BLAS has its matrices: column by column, with the distance of two columns.
__global__ void sgemm(
    int m, int n, int k, float alpha, const float* A, int lda, const float* B, int ldb, float beta, float* C, int ldc) {
    const int row = blockIdx.x * 32 + threadIdx.x, col = blockIdx.y * 32 + threadIdx.y;
    if (row >= m || col >= n) return;
    float sum = 0;
    for (int i = 0; i < k; ++i) sum += A[row + i * lda] * B[i + col * ldb];
    C[row + col * ldc] = alpha * sum + beta * C[row + col * ldc];
}
