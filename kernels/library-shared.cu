// gemm-cuda (the book's sources): the library's shared-memory kernel in double precision. Right.
//
// The sizes are named as in lab report 10: A is M x N, B is N x K, C is M x K; so our K goes where its N stands.
//
// lab try: --dtype f64 --args A,B,C,M,K,N --grid cdiv(N,32),cdiv(M,32) --block 32,32

#define TILE 32

extern "C" __global__ void library_shared(const double* A, const double* B, double* C, int M, int N, int K) {
    __shared__ double As[TILE][TILE];
    __shared__ double Bs[TILE][TILE];
    int ty = threadIdx.y, tx = threadIdx.x;
    int row = blockIdx.y * TILE + ty;
    int col = blockIdx.x * TILE + tx;
    double sum = 0.0;
    for (int first = 0; first < N; first += TILE) {
        As[ty][tx] = row < M && first + tx < N ? A[row * N + first + tx] : 0.0;
        Bs[ty][tx] = col < K && first + ty < N ? B[(first + ty) * K + col] : 0.0;
        __syncthreads();  // both tiles are full
        for (int i = 0; i < TILE; ++i) sum += As[ty][i] * Bs[i][tx];
        __syncthreads();  // everyone has read the tiles
    }
    if (row < M && col < K) C[row * K + col] = sum;
}
