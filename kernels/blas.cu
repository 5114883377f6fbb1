// The order of the BLAS: sizes first, then alpha, A, B, beta, C. C becomes alpha * A * B + beta * C. Right.
//
// Where beta is 0, C is not read: NaN that happens to be there must not come through.
//
// lab try: --args M,N,K,alpha=1.5,A,B,beta=0.5,C --grid cdiv(N,32),cdiv(M,8) --block 32,8

__global__ void gemm(
    int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || col >= N) return;
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    C[row * N + col] = alpha * sum + (beta == 0.0f ? 0.0f : beta * C[row * N + col]);
}
