// fma_split_k: split-K.
//
//   C = alpha * A * B + beta * C      A is M x K, B is K x N, C is M x N; row-major, rows
//                                     lda, ldb and ldc apart. TRANSPOSED: B is stored N x K.
//
// Level 8 for a C with too few tiles to fill the card: K is shared out, too. Within a block,
// SLICES warps work on the same elements of C, each on its WK of every step, and their sums are
// added in shared memory. Across blocks, K is cut into SPLIT parts: a block works on one part of
// one tile and leaves its sums in global memory, and the last block of a tile adds them up,
// always in the same order.
//
// Given by KERNEL: ELEMENT     float or double
//                  BM, BN, BK  tile of C per block is BM x BN; one step along K is BK
//                  WM, WN, WK  the same per warp
//                  TM, TN      elements of C per thread
//                  STAGES      buffers in shared memory
//                  SPLIT       parts of K
//                  TRANSPOSED  0: B is stored K x N; 1: N x K
//                  ADDED       0: beta is 0, and C is only written; 1: beta * C is added

using T = ELEMENT;
constexpr int V = 16 / sizeof(T);  // elements in a vector
template <int W>
struct alignas(W * sizeof(T)) Some {  // of a row, which are read or written together
    T e[W];
};
using Vector = Some<V>;
struct Stage {
    T a[BK][BM + V];                    // a tile of A, transposed and padded
    T b[BK][TRANSPOSED ? BN + V : BN];  // a tile of B; what is transposed is padded
};
constexpr int LM = WM / TM;  // lanes of a warp along M
constexpr int LN = WN / TN;  // and along N
constexpr int SLICES = BK / WK;
constexpr int THREADS = (BM / WM) * (BN / WN) * SLICES * 32;
constexpr int BAND = 8;  // rows of tiles that blocks go through together
using Sums = T[BM][BN + V];  // of a slice, padded like A
using Parts = T[SPLIT][BM][BN];  // the sums of the parts of K, for a tile
constexpr int ROOM = SPLIT > 1 ? 1 << 22 : BM * BN;  // elements that the sums of all parts may have
static_assert(BM % WM == 0 && BN % WN == 0 && BK % WK == 0,
              "WM, WN and WK must divide BM, BN and BK: the warps cover the tile");
static_assert(WM % TM == 0 && WN % TN == 0 && LM * LN == 32 && LM % 2 == 0,
              "(WM / TM) * (WN / TN) must be the 32 lanes of a warp, an even number along M");
static_assert(TM % 4 == 0 && TN % 4 == 0,
              "TM and TN must be multiples of 4: rows of vectors, with a square for each");
static_assert(THREADS <= 1024,
              "(BM / WM) * (BN / WN) * (BK / WK) is the number of warps per block: at most 32");
static_assert(THREADS % BK == 0 && BM % (THREADS / BK) == 0,
              "the threads must copy whole rows of the tile of A, an element each, and BM evenly");
static_assert(TRANSPOSED || BK % (THREADS * V / BN) == 0,
              "the threads must copy BK rows of the tile of B evenly, a vector each");
static_assert(!TRANSPOSED || BN % (THREADS / BK) == 0,
              "the threads must copy BN rows of the tile of a B that is stored N x K evenly");
static_assert(THREADS % BN == 0 && BM % (THREADS * V / BN) == 0,
              "the threads must add whole rows of the tile of C, and BM of them evenly");
static_assert(WK % 2 == 0 && STAGES >= 2,
              "WK must be even, for two sets of registers, and STAGES at least 2");
static_assert(STAGES * sizeof(Stage) <= 227 * 1024,
              "the stages must fit into 227 KiB of shared memory");
static_assert(SLICES * sizeof(Sums) <= 227 * 1024,
              "the slices' sums must fit into 227 KiB of shared memory");
static_assert(SPLIT >= 1 && SPLIT * BM * BN <= ROOM,
              "SPLIT must be from 1 to 4194304 / (BM * BN): the sums of a tile must have room");

// What the caller gives.
struct Product {
    const T* A;
    const T* B;
    T* C;
    int M, N, K;
    int lda, ldb, ldc;
    T alpha, beta;
};

// Begins to copy BYTES bytes to shared memory; where they are not inside the matrix, zeros.
template <int BYTES>
__device__ void copy_async(T* to, const T* from, bool inside) {
    unsigned shared = __cvta_generic_to_shared(to);
    int bytes = inside ? BYTES : 0;
    if constexpr (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                     ::"r"(shared), "l"(from), "r"(bytes) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;"
                     ::"r"(shared), "l"(from), "n"(BYTES), "r"(bytes) : "memory");
}

// The sum of as many as count, in their order.
template <class X>
__device__ X added(const T* sums, int count, int apart) {
    X sum = *(X*)sums;
    for (int i = 1; i < count; ++i)
        for (int w = 0; w < sizeof(X) / sizeof(T); ++w)
            sum.e[w] += ((X*)&sums[i * apart])->e[w];
    return sum;
}

constexpr int TILES = ROOM / (SPLIT * BM * BN);  // tiles for which there is room
__device__ __align__(16) Parts partial[TILES];
__device__ int arrived[TILES];  // for each tile, how many parts' sums are there

// ALIGNED: every row of B and C begins at a multiple of 16 bytes, and is whole vectors.
template <bool ALIGNED>
__device__ void multiply(const Product& p) {
    extern __shared__ __align__(16) Stage stages[];
    // ANCHOR: mapping
    int tid = threadIdx.x;
    int lane = tid % 32;
    int warp = tid / 32;
    int slice = SLICES > 1 ? warp / (BN / WN * (BM / WM)) : 0;
    int wm = warp / (BN / WN) % (BM / WM);
    int wn = warp % (BN / WN);
    // Lanes 0 and 1 share a vector of B, lanes 0 and 2 one of A, and so on: what two lanes share
    // is read once.
    int lm = lane % 2 + lane / (2 * LN) * 2;
    int ln = lane / 2 % LN;
    int ty = wm * WM + lm * V;  // this thread's first vectors in the tile
    int tx = wn * WN + ln * V;
    // The blocks go through C band by band, and down each column of tiles in a band.
    int across = (p.N + BN - 1) / BN;
    int down = (p.M + BM - 1) / BM;
    int band = blockIdx.x / (BAND * across) * BAND;
    int at = blockIdx.x % (BAND * across);
    int height = min(BAND, down - band);
    int row0 = (band + at % height) * BM;  // the tile's corner in C
    int col0 = at / height * BN;
    // This block's part of K, in whole steps. Where the sums of all tiles have no room, one block
    // does a whole tile.
    int parts = across * down <= TILES ? SPLIT : 1;
    int part = blockIdx.y;
    if (part >= parts)
        return;
    long long steps = (p.K + BK - 1) / BK;
    int k0 = steps * part / parts * BK;
    int length = min(p.K, int(steps * (part + 1) / parts * BK)) - k0;
    // ANCHOR_END: mapping
    // ANCHOR: load
    // A is copied element by element, so that a row becomes a column; B vector by vector where
    // they are aligned. A B that is stored N x K is copied like A. A step's copies begin SHARE by
    // SHARE, row after row: all at once, they would keep the multiply-adds waiting.
    constexpr int W = ALIGNED ? V : 1;
    constexpr int DOWN = THREADS / BK;        // rows of A that the threads cover at a time
    constexpr int ACROSS = THREADS * V / BN;  // and rows of B
    constexpr int COPIES_A = BM / DOWN;
    constexpr int COPIES_B = TRANSPOSED ? BN / DOWN : BK / ACROSS * V / W;
    constexpr int LEAST = (COPIES_A + COPIES_B + WK - 2) / (WK - 1);
    constexpr int SHARE = LEAST < 3 ? 3 : LEAST;
    int am = tid / BK;
    int ak = tid % BK;
    int bk = TRANSPOSED ? tid % BK : tid / (BN / V);
    int bn = TRANSPOSED ? tid / BK : tid % (BN / V) * W;
    int rows = p.M - row0 - am;
    int cols = p.N - col0 - bn;
    const T* from_a = p.A + (row0 + am) * p.lda + k0 + ak;
    const T* from_b = TRANSPOSED ? p.B + (col0 + bn) * p.ldb + k0 + bk
                                 : p.B + (k0 + bk) * p.ldb + col0 + bn;
    auto load = [&](Stage& stage, int left, int row) {  // the copies of a row; left: of K
        for (int i = 0; i < SHARE; ++i) {
            int copy = row * SHARE + i;
            int m = copy * DOWN;
            int c = copy - COPIES_A;
            int k = TRANSPOSED ? 0 : c / (V / W) * ACROSS;
            int n = TRANSPOSED ? c * DOWN : c % (V / W) * (BN / V);
            if (copy < COPIES_A)
                copy_async<sizeof(T)>(&stage.a[ak][am + m], from_a + m * p.lda,
                                      ak < left && m < rows);
            else if (c < COPIES_B && TRANSPOSED)
                copy_async<sizeof(T)>(&stage.b[bk][bn + n], from_b + n * p.ldb,
                                      bk < left && n < cols);
            else if (c < COPIES_B)
                copy_async<W * sizeof(T)>(&stage.b[bk + k][bn + n], from_b + k * p.ldb + n,
                                          bk + k < left && n < cols);
        }
        if (row < WK - 2)
            return;
        from_a += BK;
        from_b += TRANSPOSED ? BK : BK * p.ldb;
        asm volatile("cp.async.commit_group;");
    };
    // ANCHOR_END: load
    // ANCHOR: mainloop
    alignas(16) T acc[TM][TN] = {};
    alignas(16) T a[2][TM];
    alignas(16) T b[2][TN];
    constexpr int VECTORS = (TM + TN) / V;
    constexpr int EVERY = TM * TN / 8 < VECTORS ? 1 : 2;
    // Reads vector v of row k into a set of registers: first those of A, then those of B.
    auto fetch = [&](int set, const Stage& stage, int k, int v) {
        if (v < TM / V)
            *(Vector*)&a[set][v * V] = *(Vector*)&stage.a[k][ty + v * V * LM];
        else
            *(Vector*)&b[set][v * V - TM] = *(Vector*)&stage.b[k][tx + (v * V - TM) * LN];
    };
    // Waits until all copies but the newest STAGES - 2 groups have landed, everyone's.
    auto ready = [&] {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
        __syncthreads();
    };
    #pragma unroll
    for (int s = 0; s < STAGES - 1; ++s)
        #pragma unroll
        for (int row = 0; row < WK - 1; ++row)
            load(stages[s], length - s * BK, row);
    ready();
    for (int v = 0; v < VECTORS; ++v)
        fetch(0, stages[0], slice * WK, v);
    int now = 0;
    int next = STAGES - 1;
    for (int left = length; left > 0; left -= BK) {
        #pragma unroll
        for (int k = 0; k < WK; ++k) {
            // Before the last row: the next tile has landed, and everyone has read this one,
            // which may be overwritten.
            if (k == WK - 1) {
                ready();
                next = now;
                now = now + 1 < STAGES ? now + 1 : 0;
            }
            // Compute in squares of two by two, back and forth: neighbours share what they read
            // from the registers. Every EVERY squares, a vector of the next row is read.
            #pragma unroll
            for (int square = 0; square < TM * TN / 4; ++square) {
                if (k < WK - 1 && square == TM * TN / 8)
                    load(stages[next], left - (STAGES - 1) * BK, k);
                if (square % EVERY == 0 && square / EVERY < VECTORS)
                    fetch((k + 1) % 2, stages[now], slice * WK + (k + 1) % WK, square / EVERY);
                int m = square / (TN / 2) * 2;
                int i = square % (TN / 2) * 2;
                int n = m % 4 ? TN - 2 - i : i;
                for (int j = 0; j < 4; ++j) {  // around the square
                    int y = m + 1 - j / 2;
                    int x = n + 1 - (j % 2 ^ j / 2);
                    acc[y][x] += a[k % 2][y] * b[k % 2][x];
                }
            }
        }
    }
    // ANCHOR_END: mainloop
    // ANCHOR: epilogue
    auto store = [&](int m, int n, Some<W> sum) {
        if (row0 + m >= p.M || col0 + n >= p.N)
            return;
        Some<W>* to = (Some<W>*)&p.C[(row0 + m) * p.ldc + col0 + n];
        Some<W> old = ADDED ? *to : Some<W>{};
        for (int w = 0; w < W; ++w)
            sum.e[w] = ADDED ? p.alpha * sum.e[w] + p.beta * old.e[w] : p.alpha * sum.e[w];
        *to = sum;
    };
    Sums* sums = (Sums*)stages;
    Parts& tile = partial[parts > 1 ? blockIdx.x : 0];
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();  // all copies have landed, and everyone has done the last read of the stages
    for (int m = 0; m < TM; ++m)
        for (int n = 0; n < TN; n += V) {
            Vector v;  // moved: see level 7
            for (int i = 0; i < V; ++i)
                v.e[i] = __shfl_sync(~0u, acc[m][n + i], lane);
            *(Vector*)&sums[slice][ty + m / V * LM * V + m % V][tx + n * LN] = v;
        }
    __syncthreads();  // the slices' sums are in shared memory
    constexpr int BESIDE = sizeof(Sums) / sizeof(T);  // from a slice's sums to the next one's
    if (parts == 1) {  // W elements at a time: what lanes store lies side by side in C
        constexpr int ROWS = THREADS * W / BN;  // rows that the threads do at a time
        int m = tid * W / BN;
        int n = tid * W % BN;
        #pragma unroll 8
        for (int i = 0; i < BM; i += ROWS)
            store(m + i, n, added<Some<W>>(&sums[0][m + i][n], SLICES, BESIDE));
        return;
    }
    constexpr int ROWS = THREADS * V / BN;
    int m = tid * V / BN;
    int n = tid * V % BN;
    for (int i = 0; i < BM; i += ROWS)
        *(Vector*)&tile[part][m + i][n] = added<Vector>(&sums[0][m + i][n], SLICES, BESIDE);
    __threadfence();
    __syncthreads();  // this part's sums are in global memory
    if (!__syncthreads_or(tid == 0 && atomicAdd(&arrived[blockIdx.x], 1) == SPLIT - 1))
        return;  // some arrive later
    __threadfence();
    Vector total[BM / ROWS];  // first all are read, then all stored
    for (int i = 0; i < BM / ROWS; ++i)
        total[i] = added<Vector>(&tile[0][m + i * ROWS][n], SPLIT, BM * BN);
    for (int i = 0; i < BM / ROWS; ++i)
        for (int v = 0; v < V; v += W)
            store(m + i * ROWS, n + v, *(Some<W>*)&total[i].e[v]);
    if (tid == 0)
        arrived[blockIdx.x] = 0;  // for the next launch
    // ANCHOR_END: epilogue
}

extern "C" __global__ void __launch_bounds__(THREADS)
gemm_split_k(const T* A, const T* B, T* C, int M, int N, int K, int lda, int ldb, int ldc,
             T alpha, T beta) {
    Product p = {A, B, C, M, N, K, lda, ldb, ldc, alpha, beta};
    bool whole = N % V == 0 && ldc % V == 0 && (size_t)C % 16 == 0;
    if (!TRANSPOSED)
        whole = whole && ldb % V == 0 && (size_t)B % 16 == 0;
    if (whole)
        multiply<true>(p);
    else
        multiply<false>(p);
}
