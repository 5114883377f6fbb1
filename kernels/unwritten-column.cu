// Level 1 whose tile of A has a column that nobody writes. Wrong.
//
// The loads of A stop one short: the last column of As holds whatever shared memory held before.
//
// lab try: --size 64 --args A,B,C,M,N,K --grid cdiv(N,16),cdiv(M,16) --block 16,16 --alone

#define TILE 16

extern "C" __global__ void unwritten_column(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ __align__(16) float As[TILE][TILE];
    __shared__ __align__(16) float Bs[TILE][TILE];
    int ty = threadIdx.y, tx = threadIdx.x;
    int row = blockIdx.y * TILE + ty;
    int col = blockIdx.x * TILE + tx;
    float acc = 0.0f;
    for (int k0 = 0; k0 < K; k0 += TILE) {
        // ANCHOR: mistake
        if (tx < TILE - 1) As[ty][tx] = row < M && k0 + tx < K ? A[row * K + k0 + tx] : 0.0f;
        Bs[ty][tx] = k0 + ty < K && col < N ? B[(k0 + ty) * N + col] : 0.0f;
        __syncthreads();  // both tiles are full
        // ANCHOR_END: mistake
        for (int k = 0; k < TILE; ++k) acc += As[ty][k] * Bs[k][tx];
        __syncthreads();  // everyone has read the tiles
    }
    if (row < M && col < N) C[row * N + col] = acc;
}
