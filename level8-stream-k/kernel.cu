// Level 8: stream-K.
//
//   C = A * B      A is M x K, B is K x N, C is M x N; row-major, no padding.
//
// Level 6, without idle SMs in the last round: the card runs BLOCKS blocks at a time, a tile each,
// until fewer tiles are left. Those are laid end to end, a row of steps along K, and BLOCKS blocks
// share it evenly, in whole steps: each takes the end of one tile and the beginning of the next. The
// sums of a tile meet in global memory, where the block that arrives last adds them.
//
// Given by LEVEL:  ELEMENT     float or double
//                  BM, BN, BK  tile of C per block is BM x BN; one step along K is BK
//                  WM, WN      tile of C per warp
//                  TM, TN      elements of C per thread
//                  STAGES      buffers in shared memory
//                  BLOCKS      blocks that run at a time; with any other number, the product is as right

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
static_assert(BLOCKS >= 1 && 2 * BLOCKS * BM * BN * sizeof(T) <= 1 << 28, "the sums of parts, 2 * BLOCKS * BM * BN elements, must fit into 256 MiB");

// Begins to copy BYTES bytes to shared memory; where they are not inside the matrix, zeros.
template <int BYTES>
__device__ void copy_async(T* to, const T* from, bool inside) {
    unsigned shared = __cvta_generic_to_shared(to);
    if constexpr (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(from), "r"(inside ? 16 : 0) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared), "l"(from), "n"(BYTES), "r"(inside ? BYTES : 0) : "memory");
}

__device__ Vector partial[2 * BLOCKS][TM * TN / V][THREADS];  // the sums of parts of tiles
__device__ int arrived[BLOCKS];                               // for each tile of the row, how many parts' sums are there

// Of a tile, LENGTH of K from K0 on. The blocks FIRST to LAST share the tile, the row's NUMBERth; this one is BLOCK.
struct Part { int tile, k0, length, number, block, first, last; };

// ALIGNED: every row of B and C begins at a multiple of 16 bytes.
template <bool ALIGNED>
__device__ void multiply(const T* A, const T* B, T* C, int M, int N, int K, Part part) {
    extern __shared__ __align__(16) Stage stages[];
    // ANCHOR: mapping
    int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
    int ty = warp / (BN / WN) * WM + (lane % 2 + lane / (2 * LN) * 2) * V, tx = warp % (BN / WN) * WN + lane / 2 % LN * V;
    // The tiles are numbered band by band, and down each column of tiles in a band.
    int across = (N + BN - 1) / BN, down = (M + BM - 1) / BM;
    int band = part.tile / (GROUP * across) * GROUP, at = part.tile % (GROUP * across), height = min(GROUP, down - band);
    int row0 = (band + at % height) * BM, col0 = at / height * BN;  // the tile's corner in C
    // ANCHOR_END: mapping
    // ANCHOR: load
    // A is copied element by element, so that a row becomes a column; B vector by vector where they are aligned.
    constexpr int W = ALIGNED ? V : 1;
    int am = tid / BK, ak = tid % BK, bk = tid / (BN / V), bn = tid % (BN / V) * W, rows = M - row0 - am, cols = N - col0 - bn;
    const T *from_a = A + (row0 + am) * K + part.k0 + ak, *from_b = B + (part.k0 + bk) * N + col0 + bn;
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
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();  // everyone is done with the part before, and its copies have landed
    #pragma unroll
    for (int s = 0; s < STAGES - 1; ++s) load(stages[s], part.length - s * BK);
    ready();
    for (int v = 0; v < VECTORS; ++v) fetch(0, stages[0], 0, v);
    for (int left = part.length, now = 0, next = STAGES - 1; left > 0; left -= BK) {
        #pragma unroll
        for (int k = 0; k < BK; ++k) {
            // Before the last row: the next tile has landed, and everyone has read this one, which may be overwritten.
            if (k == BK - 1) ready(), next = now, now = now + 1 < STAGES ? now + 1 : 0;
            // Compute in squares of two by two, back and forth: neighbours share what they read from the registers.
            // Every EVERY squares, a vector of the next row is read.
            #pragma unroll
            for (int square = 0; square < TM * TN / 4; ++square) {
                if (k == 0 && square == TM * TN / 8) load(stages[next], left - (STAGES - 1) * BK);
                if (square % EVERY == 0 && square / EVERY < VECTORS) fetch((k + 1) % 2, stages[now], (k + 1) % BK, square / EVERY);
                int m = square / (TN / 2) * 2, i = square % (TN / 2) * 2, n = m % 4 ? TN - 2 - i : i;
                for (int j = 0, y, x; j < 4; ++j)  // around the square
                    y = m + 1 - j / 2, x = n + 1 - (j % 2 ^ j / 2), acc[y][x] += a[k % 2][y] * b[k % 2][x];
            }
        }
    }
    // ANCHOR_END: mainloop
    // ANCHOR: epilogue
    alignas(16) T c[TM * TN];  // the sums, moved: a shuffle, even to oneself, leaves the compiler free in the registers of acc
    for (int i = 0; i < TM * TN; ++i) c[i] = __shfl_sync(~0u, acc[i / TN][i % TN], lane);
    if (part.first < part.last) {  // several blocks share the tile
        auto sums = [&](int block, int i) -> Vector& { return partial[block + part.number][i / V][tid]; };
        // Of a pair, the block that finds the other's sums keeps its own: a + b is b + a. The sums of more are added in order.
        bool pair = part.last == part.first + 1, second = __syncthreads_or(tid == 0 && pair && atomicAdd(&arrived[part.number], 0) == 1);
        for (int i = 0; i < TM * TN; i += V)
            if (!second) sums(part.block, i) = *(Vector*)&c[i];
        __threadfence(), __syncthreads();  // this part's sums, if stored, are in global memory
        if (!__syncthreads_or(tid == 0 && atomicAdd(&arrived[part.number], 1) == part.last - part.first)) return;  // others arrive later
        __threadfence();
        for (T& sum : c) sum = pair ? sum : 0;
        for (int block = part.first; block <= part.last; ++block)
            if (!pair || block != part.block)
                #pragma unroll
                for (int i = 0; i < TM * TN; ++i) c[i] += sums(block, i).e[i % V];
        if (tid == 0) arrived[part.number] = 0;  // for the next launch
    }
    for (int m = 0; m < TM; ++m)
        for (int n = 0; n < TN; n += V) {
            int row = row0 + ty + m / V * LM * V + m % V, col = col0 + tx + n * LN;
            if (ALIGNED && row < M && col < N) *(Vector*)&C[row * N + col] = *(Vector*)&c[m * TN + n];
            for (int v = 0; v < V; ++v)
                if (!ALIGNED && row < M && col + v < N) C[row * N + col + v] = c[m * TN + n + v];
        }
    // ANCHOR_END: epilogue
}

template <bool ALIGNED>
__device__ void share(const T* A, const T* B, T* C, int M, int N, int K) {
    // ANCHOR: share
    int tiles = (M + BM - 1) / BM * ((N + BN - 1) / BN), steps = (K + BK - 1) / BK, rest = tiles % BLOCKS, whole = tiles - rest;
    int row = rest * steps, each = (row + BLOCKS - 1) / BLOCKS, block = blockIdx.x - whole;  // below 0: a block with a whole tile
    int step = block < 0 ? 0 : block * each, end = block < 0 ? steps : min(step + each, row), count;
    for (; step < end; step += count) {
        int number = step / steps, from = step % steps, tile = block < 0 ? int(blockIdx.x) : whole + number;
        int first = block < 0 ? 0 : number * steps / each, last = block < 0 ? 0 : (number * steps + steps - 1) / each;
        count = min(steps - from, end - step);
        multiply<ALIGNED>(A, B, C, M, N, K, {tile, from * BK, min(K - from * BK, count * BK), number, block, first, last});
    }
    // ANCHOR_END: share
}

extern "C" __global__ void __launch_bounds__(THREADS) gemm_stream_k(const T* A, const T* B, T* C, int M, int N, int K) {
    if (N % V == 0) share<true>(A, B, C, M, N, K);
    else share<false>(A, B, C, M, N, K);
}
