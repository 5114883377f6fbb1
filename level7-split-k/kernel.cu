// Level 7: split-K.
//
//   C = A * B      A is M x K, B is K x N, C is M x N; row-major, no padding.
//
// Level 6 for a C with too few tiles to fill the card: K is shared out, too. Within a
// block, SLICES warps work on the same elements of C, each on its WK of every step, and
// their sums are added in shared memory. Across blocks, K is cut into SPLIT parts: a block
// works on one part of one tile and leaves its sums in global memory, and the last block
// of a tile adds them up, always in the same order.
//
// Given by LEVEL:  ELEMENT     float or double
//                  BM, BN, BK  tile of C per block is BM x BN; one step along K is BK
//                  WM, WN, WK  the same per warp
//                  TM, TN      elements of C per thread
//                  STAGES      buffers in shared memory
//                  SPLIT       parts of K

using T = ELEMENT;
constexpr int V = 16 / sizeof(T);  // elements in a vector
struct alignas(16) Vector { T e[V]; };
struct Stage { T a[BK][BM + V], b[BK][BN]; };  // a tile of A, transposed and padded, and a tile of B
constexpr int LM = WM / TM, LN = WN / TN;      // lanes of a warp along M and N
constexpr int SLICES = BK / WK, THREADS = (BM / WM) * (BN / WN) * SLICES * 32;
using Sums = T[BM][BN + V];  // of a slice, padded like A
using Part = T[BM][BN];      // the sums of a part of K
constexpr int ROOM = SPLIT > 1 ? 1 << 22 : BM * BN;  // elements that the sums of all parts may have
constexpr int GROUP = 8;  // rows of tiles in a band, whose blocks run together: what they share stays in the L2 cache
static_assert(BM % WM == 0 && BN % WN == 0 && BK % WK == 0, "WM, WN and WK must divide BM, BN and BK: the warps cover the tile");
static_assert(WM % TM == 0 && WN % TN == 0 && LM * LN == 32 && LM % 2 == 0, "(WM / TM) * (WN / TN) must be the 32 lanes of a warp, an even number of them along M");
static_assert(TM % 4 == 0 && TN % 4 == 0, "TM and TN must be multiples of 4: they are read as vectors, and a row has a square for each vector");
static_assert(THREADS <= 1024, "(BM / WM) * (BN / WN) * (BK / WK) is the number of warps per block: at most 32");
static_assert(THREADS % BK == 0 && BM % (THREADS / BK) == 0, "the threads must copy whole rows of the tile of A, an element each, and BM rows evenly");
static_assert(THREADS % BN == 0 && BK % (THREADS * V / BN) == 0 && BM % (THREADS * V / BN) == 0, "the threads must copy whole rows of B's tile, and add whole rows of C's, an element or a vector each, and do BK and BM rows evenly");
static_assert(WK % 2 == 0 && STAGES >= 2, "WK must be even, for two sets of registers, and STAGES at least 2");
static_assert(STAGES * sizeof(Stage) <= 227 * 1024, "the stages must fit into 227 KiB of shared memory");
static_assert(SLICES * sizeof(Sums) <= 227 * 1024, "the slices' sums must fit into 227 KiB of shared memory");
static_assert(SPLIT >= 1 && SPLIT * BM * BN <= ROOM, "SPLIT must be at least 1, and SPLIT * BM * BN at most 4194304: the sums of a tile must have room");

// Begins to copy BYTES bytes to shared memory; where they are not inside the matrix, zeros.
template <int BYTES>
__device__ void copy_async(T* to, const T* from, bool inside) {
    unsigned shared = __cvta_generic_to_shared(to);
    if constexpr (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(from), "r"(inside ? 16 : 0) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared), "l"(from), "n"(BYTES), "r"(inside ? BYTES : 0) : "memory");
}

constexpr int TILES = ROOM / (SPLIT * BM * BN);  // tiles for which there is room
__device__ __align__(16) Part partial[TILES][SPLIT];
__device__ int arrived[TILES];  // for each tile, how many parts' sums are there

// ALIGNED: every row of B and C begins at a multiple of 16 bytes.
template <bool ALIGNED>
__device__ void multiply(const T* A, const T* B, T* C, int M, int N, int K) {
    extern __shared__ __align__(16) Stage stages[];
    // ANCHOR: mapping
    int tid = threadIdx.x, lane = tid % 32, warp = tid / 32, slice = SLICES > 1 ? warp / (BN / WN * (BM / WM)) : 0;
    int ty = warp / (BN / WN) % (BM / WM) * WM + (lane % 2 + lane / (2 * LN) * 2) * V, tx = warp % (BN / WN) * WN + lane / 2 % LN * V;
    // The blocks go through C band by band, and down each column of tiles in a band.
    int across = (N + BN - 1) / BN, down = (M + BM - 1) / BM;
    int band = blockIdx.x / (GROUP * across) * GROUP, at = blockIdx.x % (GROUP * across), height = min(GROUP, down - band);
    int row0 = (band + at % height) * BM, col0 = at / height * BN;  // the tile's corner in C
    // This block's part of K, in whole steps. Where the sums of all tiles have no room, one block does a whole tile.
    int parts = across * down <= TILES ? SPLIT : 1, part = blockIdx.y, steps = (K + BK - 1) / BK;
    int k0 = (long long)steps * part / parts * BK, length = min(K, int((long long)steps * (part + 1) / parts * BK)) - k0;
    if (part >= parts) return;
    // ANCHOR_END: mapping
    // ANCHOR: load
    // A is copied element by element, so that a row becomes a column; B vector by vector where they are aligned.
    // A step's copies begin SHARE by SHARE, row after row: all at once, they would keep the multiply-adds waiting.
    constexpr int W = ALIGNED ? V : 1, ROWS_A = THREADS / BK, ROWS_B = THREADS * V / BN;  // rows that the threads cover at a time
    constexpr int COPIES_A = BM / ROWS_A, COPIES = COPIES_A + BK / ROWS_B * V / W, LEAST = (COPIES + WK - 2) / (WK - 1), SHARE = LEAST < 3 ? 3 : LEAST;
    int am = tid / BK, ak = tid % BK, bk = tid / (BN / V), bn = tid % (BN / V) * W, rows = M - row0 - am, cols = N - col0 - bn;
    const T *from_a = A + (row0 + am) * K + k0 + ak, *from_b = B + (k0 + bk) * N + col0 + bn;
    auto load = [&](Stage& stage, int left, int row) {  // the copies of a row; left: how much of K is left
        for (int i = 0; i < SHARE; ++i) {
            int c = row * SHARE + i, m = c * ROWS_A, v = c - COPIES_A, k = v / (V / W) * ROWS_B, n = v % (V / W) * (BN / V);
            if (c < COPIES_A) copy_async<sizeof(T)>(&stage.a[ak][am + m], from_a + m * K, ak < left && m < rows);
            else if (c < COPIES) copy_async<W * sizeof(T)>(&stage.b[bk + k][bn + n], from_b + k * N + n, bk + k < left && n < cols);
        }
        if (row != WK - 2) return;
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
    for (int i = 0; i < (STAGES - 1) * (WK - 1); ++i) load(stages[i / (WK - 1)], length - i / (WK - 1) * BK, i % (WK - 1));
    ready();
    for (int v = 0; v < VECTORS; ++v) fetch(0, stages[0], slice * WK, v);
    for (int left = length, now = 0, next = STAGES - 1; left > 0; left -= BK) {
        #pragma unroll
        for (int k = 0; k < WK; ++k) {
            // Before the last row: the next tile has landed, and everyone has read this one, which may be overwritten.
            if (k == WK - 1) ready(), next = now, now = now + 1 < STAGES ? now + 1 : 0;
            // Compute in squares of two by two, back and forth: neighbours share what they read from the registers.
            // Every EVERY squares, a vector of the next row is read.
            #pragma unroll
            for (int square = 0; square < TM * TN / 4; ++square) {
                if (k < WK - 1 && square == TM * TN / 8) load(stages[next], left - (STAGES - 1) * BK, k);
                if (square % EVERY == 0 && square / EVERY < VECTORS) fetch((k + 1) % 2, stages[now], slice * WK + (k + 1) % WK, square / EVERY);
                int m = square / (TN / 2) * 2, i = square % (TN / 2) * 2, n = m % 4 ? TN - 2 - i : i;
                for (int j = 0, y, x; j < 4; ++j)  // around the square
                    y = m + 1 - j / 2, x = n + 1 - (j % 2 ^ j / 2), acc[y][x] += a[k % 2][y] * b[k % 2][x];
            }
        }
    }
    // ANCHOR_END: mainloop
    // ANCHOR: epilogue
    struct alignas(W * sizeof(T)) Some { T e[W]; };  // what a thread adds at a time
    constexpr int ROWS = THREADS * W / BN;           // and how many rows all threads do
    int row = tid * W / BN, col = tid * W % BN;
    auto add = [&](const T* sums, int count, int apart) {
        Some sum = *(Some*)sums;
        for (int i = 1; i < count; ++i)
            for (int w = 0; w < W; ++w) sum.e[w] += ((Some*)&sums[i * apart])->e[w];
        return sum;
    };
    auto store = [&](int m, Some sum) { if (row0 + m < M && col0 + col < N) *(Some*)&C[(row0 + m) * N + col0 + col] = sum; };
    Sums* sums = (Sums*)stages;
    Part* tile = partial[parts > 1 ? blockIdx.x : 0];
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();  // all copies have landed, and everyone has done the last read: the stages may be overwritten
    for (int m = 0; m < TM; ++m)
        for (int n = 0; n < TN; n += V) {
            Vector v;  // its registers are neighbours; a shuffle, even to oneself, leaves the compiler free in those of acc
            for (int i = 0; i < V; ++i) v.e[i] = __shfl_sync(~0u, acc[m][n + i], lane);
            *(Vector*)&sums[slice][ty + m / V * LM * V + m % V][tx + n * LN] = v;
        }
    __syncthreads();  // the slices' sums are in shared memory
    #pragma unroll 8
    for (int m = row; m < BM + row; m += ROWS) {
        Some sum = add(&sums[0][m][col], SLICES, sizeof(Sums) / sizeof(T));
        if (parts == 1) store(m, sum);
        else *(Some*)&tile[part][m][col] = sum;
    }
    if (parts == 1) return;
    __threadfence(), __syncthreads();  // this part's sums are in global memory
    if (!__syncthreads_or(tid == 0 && atomicAdd(&arrived[blockIdx.x], 1) == SPLIT - 1)) return;  // not the last block
    __threadfence();
    for (int m = row; m < BM + row; m += ROWS) store(m, add(&tile[0][m][col], SPLIT, BM * BN));
    if (tid == 0) arrived[blockIdx.x] = 0;  // for the next launch
    // ANCHOR_END: epilogue
}

extern "C" __global__ void __launch_bounds__(THREADS) gemm_split_k(const T* A, const T* B, T* C, int M, int N, int K) {
    if (N % V == 0) multiply<true>(A, B, C, M, N, K);
    else multiply<false>(A, B, C, M, N, K);
}
