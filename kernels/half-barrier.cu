// Level 1 with a barrier that only half of each warp reaches. Wrong, though a GPU may well give the right product.
//
// Nothing makes the other half wait until the tiles are full.
//
// lab try: --size 64 --args A,B,C,M,N,K --grid cdiv(N,16),cdiv(M,16) --block 16,16 --alone

#define TILE 16

extern "C" __global__ void half_barrier(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ __align__(16) float As[TILE][TILE];
    __shared__ __align__(16) float Bs[TILE][TILE];
    int ty = threadIdx.y, tx = threadIdx.x;
    int row = blockIdx.y * TILE + ty;
    int col = blockIdx.x * TILE + tx;
    float acc = 0.0f;
    for (int k0 = 0; k0 < K; k0 += TILE) {
        // ANCHOR: mistake
        As[ty][tx] = row < M && k0 + tx < K ? A[row * K + k0 + tx] : 0.0f;
        Bs[ty][tx] = k0 + ty < K && col < N ? B[(k0 + ty) * N + col] : 0.0f;
        if (tx < TILE / 2) __syncthreads();  // both tiles are full
        for (int k = 0; k < TILE; ++k) acc += As[ty][k] * Bs[k][tx];
        __syncthreads();  // everyone has read the tiles
        // ANCHOR_END: mistake
    }
    if (row < M && col < N) C[row * N + col] = acc;
}
