// Level 3: double buffering.
//
//   C = A * B      A is M x K, B is K x N, C is M x N; row-major, no padding.
//
// Level 2 with two buffers in shared memory: while the block computes with one
// tile, it fetches the next into the other buffer, and one barrier per step is
// enough. The price: twice the shared memory, so fewer blocks fit on an SM.
//
// Given by LEVEL:  ELEMENT     float or double
//                  BM, BN, BK  tile of C is BM x BN; one step along K is BK
//                  TM, TN      elements of C per thread

using T = ELEMENT;
constexpr int THREADS = (BM / TM) * (BN / TN);
static_assert(BM % TM == 0 && BN % TN == 0,
              "TM must divide BM and TN must divide BN: the threads cover the tile");
static_assert(THREADS <= 1024,
              "(BM / TM) * (BN / TN) is the number of threads per block: at most 1024");
static_assert(THREADS % BK == 0 && THREADS % BN == 0,
              "BK and BN must divide the number of threads: they load whole rows of the tiles");
static_assert(BM % (THREADS / BK) == 0 && BK % (THREADS / BN) == 0,
              "the threads must load BM rows of A and BK rows of B evenly");
static_assert(2 * (BM + BN) * BK * sizeof(T) <= 48 * 1024,
              "2 * (BM + BN) * BK elements must fit into 48 KiB of shared memory");

extern "C" __global__ void gemm_double_buffer(const T* A, const T* B, T* C, int M, int N, int K) {
    __shared__ __align__(16) T As[2][BM][BK];
    __shared__ __align__(16) T Bs[2][BK][BN];
    int tid = threadIdx.x;
    int ty = tid / (BN / TN) * TM;  // this thread's corner in the tile
    int tx = tid % (BN / TN) * TN;
    int row0 = blockIdx.y * BM;  // the tile's corner in C
    int col0 = blockIdx.x * BN;
    // Load: the threads take some rows of a tile at a time; beyond the edge stands a zero.
    auto load = [&](int buffer, int k0) {
        #pragma unroll
        for (int i = 0; i < BM; i += THREADS / BK) {
            int m = i + tid / BK;
            int k = tid % BK;
            As[buffer][m][k] = row0 + m < M && k0 + k < K ? A[(row0 + m) * K + k0 + k] : T(0);
        }
        #pragma unroll
        for (int i = 0; i < BK; i += THREADS / BN) {
            int k = i + tid / BN;
            int n = tid % BN;
            Bs[buffer][k][n] = k0 + k < K && col0 + n < N ? B[(k0 + k) * N + col0 + n] : T(0);
        }
    };
    T acc[TM][TN] = {};
    // TODO: two buffers. While the block computes with one, it fetches the next tile into the other,
    // so that one barrier a step is enough.
    for (int k0 = 0; k0 < K; k0 += BK) {
        load(0, k0);
        __syncthreads();  // the tile is full
        #pragma unroll
        for (int k = 0; k < BK; ++k)
            for (int m = 0; m < TM; ++m)
                for (int n = 0; n < TN; ++n)
                    acc[m][n] += As[0][ty + m][k] * Bs[0][k][tx + n];
        __syncthreads();  // everyone has read it
    }
    for (int m = 0; m < TM; ++m)
        for (int n = 0; n < TN; ++n) {
            int row = row0 + ty + m;
            int col = col0 + tx + n;
            if (row < M && col < N)
                C[row * N + col] = acc[m][n];
        }
}
