// Level 9: split-K.
//
//   C = A * B      A is M x K, B is K x N, C is M x N; row-major, no padding.
//
// Level 8 for a C with too few tiles to fill the card: K is shared out, too. A block works on one
// of SPLIT parts of its tile's K and leaves its sums in global memory; the block of a tile that
// comes last adds them up, always in the same order. Within a block, SLICES warps work on the same
// elements of C, each on its WK of every step, and add up their sums in shared memory.
//
// Given by LEVEL:  ELEMENT     float or double
//                  BM, BN, BK  tile of C per block is BM x BN; one step along K is BK
//                  WM, WN, WK  the same per warp
//                  TM, TN      elements of C per thread
//                  STAGES      buffers in shared memory
//                  SPLIT       parts of K

using T = ELEMENT;
constexpr int V = 16 / sizeof(T);  // elements in a vector
struct alignas(16) Vector {
    T e[V];
};
struct Stage {
    T a[BK][BM + V];  // a tile of A, transposed and padded
    T b[BK][BN];      // a tile of B
};
using Sums = T[BM][BN + V];  // of a slice, padded like A
constexpr int LM = WM / TM;  // lanes of a warp along M
constexpr int LN = WN / TN;  // and along N
constexpr int SLICES = BK / WK;
constexpr int THREADS = (BM / WM) * (BN / WN) * SLICES * 32;
constexpr int BAND = 8;  // rows of tiles that blocks go through together
constexpr int TILES = SPLIT > 1 ? (1 << 22) / (SPLIT * BM * BN) : 1;  // whose parts have room
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
static_assert(THREADS * V % BN == 0 && BK % (THREADS * V / BN) == 0,
              "the threads must copy whole rows of the tile of B, a vector each, and BK evenly");
static_assert(WK % 2 == 0 && STAGES >= 2,
              "WK must be even, for two sets of registers, and STAGES at least 2");
static_assert(STAGES * sizeof(Stage) <= 227 * 1024 && SLICES * sizeof(Sums) <= 227 * 1024,
              "the stages must fit into 227 KiB of shared memory, and so must the slices' sums");
static_assert(BM % (THREADS * V / BN) == 0,
              "the threads must add whole rows of the tile of C, a vector each, and BM evenly");
static_assert(SPLIT >= 1 && TILES >= 1,
              "SPLIT must be from 1 to 4194304 / (BM * BN): the parts' sums must have room");
__device__ __align__(16) T partial[TILES][SPLIT][BM][BN];  // the sums of a tile's parts
__device__ int arrived[TILES];  // and how many of them are there

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

// Stores a vector of C, of which `left` elements are inside the matrix.
template <bool ALIGNED>
__device__ void store(T* to, Vector sums, int left) {
    if (ALIGNED && left > 0)
        *(Vector*)to = sums;
    for (int v = 0; v < V; ++v)
        if (!ALIGNED && v < left)
            to[v] = sums.e[v];
}

// The sum of count vectors that lie so many elements apart, in their order.
__device__ Vector added(const T* sums, int count, int apart) {
    Vector sum = *(Vector*)sums;
    for (int i = 1; i < count; ++i)
        for (int v = 0; v < V; ++v)
            sum.e[v] += ((Vector*)&sums[i * apart])->e[v];
    return sum;
}

// ALIGNED: every row of B and C begins at a multiple of 16 bytes.
template <bool ALIGNED>
__device__ void multiply(const T* A, const T* B, T* C, int M, int N, int K) {
    extern __shared__ __align__(16) Stage stages[];
    int tid = threadIdx.x;
    int lane = tid % 32;
    int warp = tid / 32;
    int slice = warp / (BN / WN * (BM / WM));
    int wm = warp / (BN / WN) % (BM / WM);
    int wn = warp % (BN / WN);
    // Lanes 0 and 1 share a vector of B, lanes 0 and 2 one of A, and so on: what two lanes share
    // is read once.
    int lm = lane % 2 + lane / (2 * LN) * 2;
    int ln = lane / 2 % LN;
    int ty = wm * WM + lm * V;  // this thread's first vectors in the tile
    int tx = wn * WN + ln * V;
    // The blocks go through C band by band, and down each column of tiles in a band.
    int across = (N + BN - 1) / BN;
    int down = (M + BM - 1) / BM;
    int band = blockIdx.x / (BAND * across) * BAND;
    int at = blockIdx.x % (BAND * across);
    int height = min(BAND, down - band);
    int row0 = (band + at % height) * BM;  // the tile's corner in C
    int col0 = at / height * BN;
    // TODO: this block's part of K, in whole steps: blockIdx.y of SPLIT. Where not all tiles' parts
    // have room, a block does a whole tile.
    int parts = 1;
    int part = blockIdx.y;
    if (part >= parts)
        return;
    int k0 = 0;
    int length = K;
    // A is copied element by element, so that a row becomes a column; B vector by vector where
    // they are aligned.
    constexpr int W = ALIGNED ? V : 1;
    int am = tid / BK;
    int ak = tid % BK;
    int bk = tid / (BN / V);
    int bn = tid % (BN / V) * W;
    int rows = M - row0 - am;
    int cols = N - col0 - bn;
    const T* from_a = A + (row0 + am) * K + k0 + ak;
    const T* from_b = B + (k0 + bk) * N + col0 + bn;
    auto load = [&](Stage& stage, int left) {  // left: how much of the part is left
        #pragma unroll
        for (int i = 0; i < BM; i += THREADS / BK)
            copy_async<sizeof(T)>(&stage.a[ak][am + i], from_a + i * K, ak < left && i < rows);
        #pragma unroll
        for (int i = 0; i < BK; i += THREADS * V / BN)
            for (int n = 0; n < BN; n += BN / V * W)
                copy_async<W * sizeof(T)>(&stage.b[bk + i][bn + n], from_b + i * N + n,
                                          bk + i < left && n < cols);
        from_a += BK;
        from_b += BK * N;
        asm volatile("cp.async.commit_group;");
    };
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
        load(stages[s], length - s * BK);
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
                if (k == 0 && square == TM * TN / 8)
                    load(stages[next], left - (STAGES - 1) * BK);
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
    Sums* sums = (Sums*)stages;
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();  // all copies have landed, and everyone has done the last read of the stages
    #pragma unroll
    for (int m = 0; m < TM; ++m)
        #pragma unroll
        for (int n = 0; n < TN; n += V) {
            Vector moved;  // see level 7
            for (int v = 0; v < V; ++v)
                moved.e[v] = __shfl_sync(~0u, acc[m][n + v], lane);
            *(Vector*)&sums[slice][ty + m / V * LM * V + m % V][tx + n * LN] = moved;
        }
    __syncthreads();  // the slices' sums are in shared memory
    constexpr int ROWS = THREADS * V / BN;  // rows that the threads add at a time, a vector each
    int m = tid * V / BN;
    int n = tid * V % BN;
    Vector total[BM / ROWS];
    for (int i = 0; i < BM / ROWS; ++i)
        total[i] = added(&sums[0][m + i * ROWS][n], SLICES, sizeof(Sums) / sizeof(T));
    if (parts > 1) {
        for (int i = 0; i < BM / ROWS; ++i)
            *(Vector*)&partial[blockIdx.x][part][m + i * ROWS][n] = total[i];
        // TODO: this part's sums are stored. Who arrives last adds all parts into total, and goes on.
    }
    for (int i = 0; i < BM / ROWS; ++i)
        if (row0 + m + i * ROWS < M)
            store<ALIGNED>(&C[(row0 + m + i * ROWS) * N + col0 + n], total[i], N - col0 - n);
}

extern "C" __global__ void __launch_bounds__(THREADS)
gemm_split_k(const T* A, const T* B, T* C, int M, int N, int K) {
    if (N % V == 0)
        multiply<true>(A, B, C, M, N, K);
    else
        multiply<false>(A, B, C, M, N, K);
}
