template <int TILE, typename T>
__global__ void tiled(const T* A, const T* B, T* C, int M, int N, int K) {
    __shared__ T As[TILE][TILE], Bs[TILE][TILE];
    const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * TILE + y, col = blockIdx.x * TILE + x;
    T sum = 0;
    for (int k = 0; k < K; k += TILE) {
        As[y][x] = row < M && k + x < K ? A[row * K + k + x] : T(0);
        Bs[y][x] = k + y < K && col < N ? B[(k + y) * N + col] : T(0);
        __syncthreads();
        for (int i = 0; i < TILE; ++i) sum += As[y][i] * Bs[i][x];
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = sum;
}
