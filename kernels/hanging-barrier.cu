// Level 1 with a load and a barrier inside one `if`, which half of each warp skips. Wrong: a GPU may wait forever.
//
// A tile of A has 8 columns and the block 16: lanes without a column skip the load, and the barrier with it.
//
// lab try: --size 64 --args A,B,C,M,N,K --grid cdiv(N,16),cdiv(M,16) --block 16,16 --alone

#define TILE 16
#define STEP 8

extern "C" __global__ void hanging_barrier(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ __align__(16) float As[TILE][STEP];
    __shared__ __align__(16) float Bs[STEP][TILE];
    int ty = threadIdx.y, tx = threadIdx.x;
    int row = blockIdx.y * TILE + ty;
    int col = blockIdx.x * TILE + tx;
    float acc = 0.0f;
    for (int k0 = 0; k0 < K; k0 += STEP) {
        // ANCHOR: mistake
        if (tx < STEP) {
            As[ty][tx] = row < M && k0 + tx < K ? A[row * K + k0 + tx] : 0.0f;
            __syncthreads();  // only the lanes that load an element of A come here
        }
        if (ty < STEP) Bs[ty][tx] = k0 + ty < K && col < N ? B[(k0 + ty) * N + col] : 0.0f;
        __syncthreads();  // both tiles are full
        for (int k = 0; k < STEP; ++k) acc += As[ty][k] * Bs[k][tx];
        __syncthreads();  // everyone has read the tiles
        // ANCHOR_END: mistake
    }
    if (row < M && col < N) C[row * N + col] = acc;
}
