// A is M x N, B is N x K: the inner size has the name that others give the columns of C.
__global__ void solve(const float* A, const float* B, float* C, int M, int N, int K) {
    const int row = blockIdx.y * 32 + threadIdx.y, col = blockIdx.x * 32 + threadIdx.x;
    if (row >= M || col >= K) return;
    float sum = 0;
    for (int i = 0; i < N; ++i) sum += A[row * N + i] * B[i * K + col];
    C[row * K + col] = sum;
}
