// fma_stream_k: stream-K.
//
//   C = alpha * A * B + beta * C      A is M x K, B is K x N, C is M x N; row-major, rows
//                                     lda, ldb and ldc apart. TRANSPOSED: B is stored N x K.
//
// Level 8, without idle SMs in the last round: the card runs BLOCKS blocks at a time, a tile
// each, until fewer tiles are left. Those are laid end to end, a row of steps along K, and BLOCKS
// blocks share it evenly, in whole steps: each takes the end of one tile and the beginning of the
// next. The sums of a tile meet in global memory, where the block that arrives last adds them.
//
// Given by KERNEL: ELEMENT     float or double
//                  BM, BN, BK  tile of C per block is BM x BN; one step along K is BK
//                  WM, WN      tile of C per warp
//                  TM, TN      elements of C per thread
//                  STAGES      buffers in shared memory
//                  BLOCKS      blocks that run at a time; with another number, the product is right
//                  TRANSPOSED  0: B is stored K x N; 1: N x K
//                  ADDED       0: beta is 0, and C is only written; 1: beta * C is added

using T = ELEMENT;
constexpr int V = 16 / sizeof(T);  // elements in a vector
struct alignas(16) Vector {
    T e[V];
};
struct Stage {
    T a[BK][BM + V];                    // a tile of A, transposed and padded
    T b[BK][TRANSPOSED ? BN + V : BN];  // a tile of B; what is transposed is padded
};
constexpr int LM = WM / TM;  // lanes of a warp along M
constexpr int LN = WN / TN;  // and along N
constexpr int THREADS = (BM / WM) * (BN / WN) * 32;
constexpr int BAND = 8;  // rows of tiles that blocks go through together
static_assert(BM % WM == 0 && BN % WN == 0,
              "WM must divide BM and WN must divide BN: the warps cover the tile");
static_assert(WM % TM == 0 && WN % TN == 0 && LM * LN == 32 && LM % 2 == 0,
              "(WM / TM) * (WN / TN) must be the 32 lanes of a warp, an even number along M");
static_assert(TM % 4 == 0 && TN % 4 == 0,
              "TM and TN must be multiples of 4: rows of vectors, with a square for each");
static_assert(THREADS <= 1024,
              "(BM / WM) * (BN / WN) is the number of warps per block: at most 32");
static_assert(THREADS % BK == 0 && BM % (THREADS / BK) == 0,
              "the threads must copy whole rows of the tile of A, an element each, and BM evenly");
static_assert(TRANSPOSED || (THREADS * V % BN == 0 && BK % (THREADS * V / BN) == 0),
              "the threads must copy whole rows of the tile of B, a vector each, and BK evenly");
static_assert(!TRANSPOSED || BN % (THREADS / BK) == 0,
              "the threads must copy BN rows of the tile of a B that is stored N x K evenly");
static_assert(BK % 2 == 0 && STAGES >= 2,
              "BK must be even, for two sets of registers, and STAGES at least 2");
static_assert(STAGES * sizeof(Stage) <= 227 * 1024,
              "the stages must fit into 227 KiB of shared memory");
static_assert(BLOCKS >= 1 && 2 * BLOCKS * BM * BN * sizeof(T) <= 1 << 28,
              "the sums of parts, 2 * BLOCKS * BM * BN elements, must fit into 256 MiB");

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

// Puts alpha * sums, and beta * C if ADDED, in their place in C, as far as it is inside: `left`
// elements.
template <bool ALIGNED>
__device__ void store(T* to, Vector sums, int left, T alpha, T beta) {
    Vector old = {};
    if (ADDED && ALIGNED && left > 0)
        old = *(Vector*)to;
    for (int v = 0; v < V; ++v) {
        if (ADDED && !ALIGNED && v < left)
            old.e[v] = to[v];
        sums.e[v] = ADDED ? alpha * sums.e[v] + beta * old.e[v] : alpha * sums.e[v];
        if (!ALIGNED && v < left)
            to[v] = sums.e[v];
    }
    if (ALIGNED && left > 0)
        *(Vector*)to = sums;
}

__device__ Vector partial[2 * BLOCKS][TM * TN / V][THREADS];  // the sums of parts of tiles
__device__ int arrived[BLOCKS];  // for each tile of the row, how many parts' sums are there

struct Part {
    int tile;
    int k0;      // where it begins in K
    int length;  // and how much of K it is
    int number;  // of the tile in the row
    int block;   // that computes it, in the row
    int first;   // block of those that share the tile
    int last;
};

// ALIGNED: every row of B and C begins at a multiple of 16 bytes, and is whole vectors.
template <bool ALIGNED>
__device__ void multiply(const Product& p, Part part) {
    extern __shared__ __align__(16) Stage stages[];
    // ANCHOR: mapping
    int tid = threadIdx.x;
    int lane = tid % 32;
    int warp = tid / 32;
    int wm = warp / (BN / WN);
    int wn = warp % (BN / WN);
    // Lanes 0 and 1 share a vector of B, lanes 0 and 2 one of A, and so on: what two lanes share
    // is read once.
    int lm = lane % 2 + lane / (2 * LN) * 2;
    int ln = lane / 2 % LN;
    int ty = wm * WM + lm * V;  // this thread's first vectors in the tile
    int tx = wn * WN + ln * V;
    // The tiles are numbered band by band, and down each column of tiles in a band.
    int across = (p.N + BN - 1) / BN;
    int down = (p.M + BM - 1) / BM;
    int band = part.tile / (BAND * across) * BAND;
    int at = part.tile % (BAND * across);
    int height = min(BAND, down - band);
    int row0 = (band + at % height) * BM;  // the tile's corner in C
    int col0 = at / height * BN;
    // ANCHOR_END: mapping
    // ANCHOR: load
    // A is copied element by element, so that a row becomes a column; B vector by vector where
    // they are aligned. A B that is stored N x K is copied like A.
    constexpr int W = ALIGNED ? V : 1;
    int am = tid / BK;
    int ak = tid % BK;
    int bk = TRANSPOSED ? tid % BK : tid / (BN / V);
    int bn = TRANSPOSED ? tid / BK : tid % (BN / V) * W;
    int rows = p.M - row0 - am;
    int cols = p.N - col0 - bn;
    const T* from_a = p.A + (row0 + am) * p.lda + part.k0 + ak;
    const T* from_b = TRANSPOSED ? p.B + (col0 + bn) * p.ldb + part.k0 + bk
                                 : p.B + (part.k0 + bk) * p.ldb + col0 + bn;
    auto load = [&](Stage& stage, int left) {  // left: how much of K is left
        #pragma unroll
        for (int i = 0; i < BM; i += THREADS / BK)
            copy_async<sizeof(T)>(&stage.a[ak][am + i], from_a + i * p.lda, ak < left && i < rows);
        if constexpr (TRANSPOSED) {
            #pragma unroll
            for (int i = 0; i < BN; i += THREADS / BK)
                copy_async<sizeof(T)>(&stage.b[bk][bn + i], from_b + i * p.ldb,
                                      bk < left && i < cols);
        } else {
            #pragma unroll
            for (int i = 0; i < BK; i += THREADS * V / BN)
                for (int n = 0; n < BN; n += BN / V * W)
                    copy_async<W * sizeof(T)>(&stage.b[bk + i][bn + n], from_b + i * p.ldb + n,
                                              bk + i < left && n < cols);
        }
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
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();  // everyone is done with the part before, and its copies have landed
    #pragma unroll
    for (int s = 0; s < STAGES - 1; ++s)
        load(stages[s], part.length - s * BK);
    ready();
    for (int v = 0; v < VECTORS; ++v)
        fetch(0, stages[0], 0, v);
    int now = 0;
    int next = STAGES - 1;
    for (int left = part.length; left > 0; left -= BK) {
        #pragma unroll
        for (int k = 0; k < BK; ++k) {
            // Before the last row: the next tile has landed, and everyone has read this one,
            // which may be overwritten.
            if (k == BK - 1) {
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
                    fetch((k + 1) % 2, stages[now], (k + 1) % BK, square / EVERY);
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
    // The sums, moved: a shuffle, even to oneself, leaves the compiler free in the registers of
    // acc.
    alignas(16) T c[TM * TN];
    for (int i = 0; i < TM * TN; ++i)
        c[i] = __shfl_sync(~0u, acc[i / TN][i % TN], lane);
    if (part.first < part.last) {  // several blocks share the tile
        auto sums = [&](int block, int i) -> Vector& {
            return partial[block + part.number][i / V][tid];
        };
        // Of a pair, the block that finds the other's sums keeps its own: a + b is b + a.
        // The sums of more are added in order.
        bool pair = part.last == part.first + 1;
        bool second =
            __syncthreads_or(tid == 0 && pair && atomicAdd(&arrived[part.number], 0) == 1);
        for (int i = 0; i < TM * TN; i += V)
            if (!second)
                sums(part.block, i) = *(Vector*)&c[i];
        __threadfence();
        __syncthreads();  // this part's sums, if stored, are in global memory
        int others = part.last - part.first;
        if (!__syncthreads_or(tid == 0 && atomicAdd(&arrived[part.number], 1) == others))
            return;  // some arrive later
        __threadfence();
        for (T& sum : c)
            sum = pair ? sum : 0;
        for (int block = part.first; block <= part.last; ++block)
            if (!pair || block != part.block)
                #pragma unroll
                for (int i = 0; i < TM * TN; ++i)
                    c[i] += sums(block, i).e[i % V];
        if (tid == 0)
            arrived[part.number] = 0;  // for the next launch
    }
    #pragma unroll
    for (int m = 0; m < TM; ++m)
        #pragma unroll
        for (int n = 0; n < TN; n += V) {
            int row = row0 + ty + m / V * LM * V + m % V;
            int col = col0 + tx + n * LN;
            if (row < p.M)
                store<ALIGNED>(&p.C[row * p.ldc + col], *(Vector*)&c[m * TN + n], p.N - col,
                               p.alpha, p.beta);
        }
    // ANCHOR_END: epilogue
}

template <bool ALIGNED>
__device__ void share(const Product& p) {
    // ANCHOR: share
    int tiles = (p.M + BM - 1) / BM * ((p.N + BN - 1) / BN);
    int steps = (p.K + BK - 1) / BK;
    int rest = tiles % BLOCKS;  // tiles in the row
    int whole = tiles - rest;
    int row = rest * steps;  // its length
    int each = (row + BLOCKS - 1) / BLOCKS;
    int block = blockIdx.x - whole;
    bool alone = block < 0;  // with a whole tile
    int step = alone ? 0 : block * each;
    int end = alone ? steps : min(step + each, row);
    while (step < end) {
        int number = step / steps;
        int from = step % steps;
        int count = min(steps - from, end - step);
        Part part;
        part.tile = alone ? blockIdx.x : whole + number;
        part.k0 = from * BK;
        part.length = min(p.K - from * BK, count * BK);
        part.number = number;
        part.block = block;
        part.first = alone ? 0 : number * steps / each;
        part.last = alone ? 0 : (number * steps + steps - 1) / each;
        multiply<ALIGNED>(p, part);
        step += count;
    }
    // ANCHOR_END: share
}

extern "C" __global__ void __launch_bounds__(THREADS)
gemm_stream_k(const T* A, const T* B, T* C, int M, int N, int K, int lda, int ldb, int ldc,
              T alpha, T beta) {
    Product p = {A, B, C, M, N, K, lda, ldb, ldc, alpha, beta};
    bool whole = N % V == 0 && ldc % V == 0 && (size_t)C % 16 == 0;
    if (!TRANSPOSED)
        whole = whole && ldb % V == 0 && (size_t)B % 16 == 0;
    if (whole)
        share<true>(p);
    else
        share<false>(p);
}
