// Level 6: asynchronous copies.
//
//   C = A * B      A is M x K, B is K x N, C is M x N; row-major, no padding.
//
// Level 5, but the tiles travel by cp.async: from global to shared memory without a
// stop in registers, and nobody waits for them. With STAGES buffers in shared memory,
// the next STAGES - 1 tiles are on their way while the block computes with one. Between
// shared memory and the multiply-adds, two sets of registers do the same once more.
//
// Given by LEVEL:  ELEMENT     float or double
//                  BM, BN, BK  tile of C per block is BM x BN; one step along K is BK
//                  WM, WN      tile of C per warp
//                  TM, TN      elements of C per thread
//                  STAGES      buffers in shared memory
//                  SHUFFLED    1 moves the sums before they are stored; 0 does not (variant direct)

using T = ELEMENT;
constexpr int V = 16 / sizeof(T);  // elements in a vector
struct alignas(16) Vector { T e[V]; };
struct Stage { T a[BK][BM + V], b[BK][BN]; };  // a tile of A, transposed and padded, and a tile of B
constexpr int LM = WM / TM, LN = WN / TN;      // lanes of a warp along M and N
constexpr int THREADS = (BM / WM) * (BN / WN) * 32;
constexpr int GROUP = 8;  // rows of tiles in a band, whose blocks run together: what they share stays in the L2 cache
static_assert(BM % WM == 0 && BN % WN == 0, "WM must divide BM and WN must divide BN: the warps cover the tile");
static_assert(WM % TM == 0 && WN % TN == 0 && LM * LN == 32 && LM % 2 == 0, "(WM / TM) * (WN / TN) must be the 32 lanes of a warp, an even number of them along M");
static_assert(TM % 4 == 0 && TN % 4 == 0, "TM and TN must be multiples of 4: they are read as vectors, and a row has a square for each vector");
static_assert(THREADS <= 1024, "(BM / WM) * (BN / WN) is the number of warps per block: at most 32");
static_assert(THREADS % BK == 0 && BM % (THREADS / BK) == 0, "the threads must copy whole rows of the tile of A, an element each, and BM rows evenly");
static_assert(THREADS * V % BN == 0 && BK % (THREADS * V / BN) == 0, "the threads must copy whole rows of the tile of B, a vector each, and BK rows evenly");
static_assert(BK % 2 == 0 && STAGES >= 2, "BK must be even, for two sets of registers, and STAGES at least 2");
static_assert(STAGES * sizeof(Stage) <= 227 * 1024, "the stages must fit into 227 KiB of shared memory");

// Begins to copy BYTES bytes to shared memory; where they are not inside the matrix, zeros.
template <int BYTES>
__device__ void copy_async(T* to, const T* from, bool inside) {
    unsigned shared = __cvta_generic_to_shared(to);
    if constexpr (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(from), "r"(inside ? 16 : 0) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared), "l"(from), "n"(BYTES), "r"(inside ? BYTES : 0) : "memory");
}

// ALIGNED: every row of B and C begins at a multiple of 16 bytes.
template <bool ALIGNED>
__device__ void multiply(const T* A, const T* B, T* C, int M, int N, int K) {
    extern __shared__ __align__(16) Stage stages[];
    // ANCHOR: mapping
    int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
    int ty = warp / (BN / WN) * WM + (lane % 2 + lane / (2 * LN) * 2) * V, tx = warp % (BN / WN) * WN + lane / 2 % LN * V;
    // The blocks go through C band by band, and down each column of tiles in a band.
    int across = (N + BN - 1) / BN, down = (M + BM - 1) / BM;
    int band = blockIdx.x / (GROUP * across) * GROUP, at = blockIdx.x % (GROUP * across), height = min(GROUP, down - band);
    int row0 = (band + at % height) * BM, col0 = at / height * BN;  // the tile's corner in C
    // ANCHOR_END: mapping
    // ANCHOR: load
    // A is copied element by element, so that a row becomes a column; B vector by vector where they are aligned.
    constexpr int W = ALIGNED ? V : 1;
    int am = tid / BK, ak = tid % BK, bk = tid / (BN / V), bn = tid % (BN / V) * W, rows = M - row0 - am, cols = N - col0 - bn;
    const T *from_a = A + (row0 + am) * K + ak, *from_b = B + bk * N + col0 + bn;
    auto load = [&](Stage& stage, int left) {  // left: how much of K is left
        #pragma unroll
        for (int i = 0; i < BM; i += THREADS / BK) copy_async<sizeof(T)>(&stage.a[ak][am] + i, from_a + i * K, ak < left && i < rows);
        #pragma unroll
        for (int i = 0; i < BK; i += THREADS * V / BN)
            for (int n = 0; n < BN; n += BN / V * W)
                copy_async<W * sizeof(T)>(&stage.b[bk][bn] + i * BN + n, from_b + i * N + n, bk + i < left && n < cols);
        from_a += BK, from_b += BK * N;
        asm volatile("cp.async.commit_group;");
    };
    // ANCHOR_END: load
    // ANCHOR: mainloop
    alignas(16) T acc[TM][TN] = {}, a[2][TM], b[2][TN];
    constexpr int VECTORS = (TM + TN) / V, EVERY = TM * TN / 8 < VECTORS ? 1 : 2;
    auto fetch = [&](int set, const Stage& stage, int k, int v) {  // vector v of row k: first those of A, then those of B
        if (v < TM / V) *(Vector*)&a[set][v * V] = *(Vector*)&stage.a[k][ty + v * V * LM];
        else *(Vector*)&b[set][v * V - TM] = *(Vector*)&stage.b[k][tx + (v * V - TM) * LN];
    };
    auto ready = [&] {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
        __syncthreads();  // all copies but the newest STAGES - 2 groups have landed, this thread's and everyone's
    };
    #pragma unroll
    for (int s = 0; s < STAGES - 1; ++s) load(stages[s], K - s * BK);
    ready();
    for (int v = 0; v < VECTORS; ++v) fetch(0, stages[0], 0, v);
    for (int left = K, now = 0, next = STAGES - 1; left > 0; left -= BK) {
        #pragma unroll
        for (int k = 0; k < BK; ++k) {
            // Before the last row: the next tile has landed, and everyone has read this one, which may be overwritten.
            if (k == BK - 1) ready(), next = now, now = now + 1 < STAGES ? now + 1 : 0;
            // Compute in squares of two by two, back and forth: neighbours share what they read from the registers.
            // Every EVERY squares, a vector of the next row is read.
            #pragma unroll
            for (int square = 0; square < TM * TN / 4; ++square) {
                if (square % EVERY == 0 && square / EVERY < VECTORS) fetch((k + 1) % 2, stages[now], (k + 1) % BK, square / EVERY);
                int m = square / (TN / 2) * 2, i = square % (TN / 2) * 2, n = m % 4 ? TN - 2 - i : i;
                for (int j = 0, y, x; j < 4; ++j)  // around the square
                    y = m + 1 - j / 2, x = n + 1 - (j % 2 ^ j / 2), acc[y][x] += a[k % 2][y] * b[k % 2][x];
            }
            if (k == 0) load(stages[next], left - (STAGES - 1) * BK);
        }
    }
    // ANCHOR_END: mainloop
    // ANCHOR: epilogue
    for (int m = 0; m < TM; ++m)
        for (int n = 0; n < TN; n += V) {
            int row = row0 + ty + m / V * LM * V + m % V, col = col0 + tx + n * LN;
            Vector sums;  // its registers are neighbours; a shuffle, even to oneself, leaves the compiler free in those of acc
            for (int v = 0; v < V; ++v) sums.e[v] = SHUFFLED ? __shfl_sync(~0u, acc[m][n + v], lane) : acc[m][n + v];
            if (ALIGNED && row < M && col < N) *(Vector*)&C[row * N + col] = sums;
            for (int v = 0; v < V; ++v)
                if (!ALIGNED && row < M && col + v < N) C[row * N + col + v] = sums.e[v];
        }
    // ANCHOR_END: epilogue
}

extern "C" __global__ void __launch_bounds__(THREADS) gemm_async_copy(const T* A, const T* B, T* C, int M, int N, int K) {
    if (N % V == 0) multiply<true>(A, B, C, M, N, K);
    else multiply<false>(A, B, C, M, N, K);
}
