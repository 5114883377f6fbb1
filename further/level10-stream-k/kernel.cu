// Level 10: stream-K.
//
//   C = A * B      A is M x K, B is K x N, C is M x N; row-major, no padding.
//
// Level 8, without idle SMs in the last round: the card runs BLOCKS blocks at a time, a tile each,
// until fewer tiles are left. Those are laid end to end, a row of steps along K, and BLOCKS blocks
// share it evenly: each takes the end of one tile and the beginning of the next. The sums of a
// tile's parts meet in global memory, where the block that arrives last adds them.
//
// Given by LEVEL:  ELEMENT     float or double
//                  BM, BN, BK  tile of C per block is BM x BN; one step along K is BK
//                  WM, WN      tile of C per warp
//                  TM, TN      elements of C per thread
//                  STAGES      buffers in shared memory
//                  BLOCKS      blocks that run at a time; with another number, the product is right

using T = ELEMENT;
constexpr int V = 16 / sizeof(T);  // elements in a vector
struct alignas(16) Vector {
    T e[V];
};
struct Stage {
    T a[BK][BM + V];  // a tile of A, transposed and padded
    T b[BK][BN];      // a tile of B
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
static_assert(THREADS * V % BN == 0 && BK % (THREADS * V / BN) == 0,
              "the threads must copy whole rows of the tile of B, a vector each, and BK evenly");
static_assert(BK % 2 == 0 && STAGES >= 2,
              "BK must be even, for two sets of registers, and STAGES at least 2");
static_assert(STAGES * sizeof(Stage) <= 227 * 1024,
              "the stages must fit into 227 KiB of shared memory");
static_assert(BLOCKS >= 1 && 2 * BLOCKS * BM * BN * sizeof(T) <= 1 << 28,
              "the sums of parts, 2 * BLOCKS * BM * BN elements, must fit into 256 MiB");

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

__device__ Vector partial[2 * BLOCKS][TM * TN / V][THREADS];  // slots for the sums of parts
__device__ int arrived[2 * BLOCKS];  // for each tile, by its first slot: how many sums are there
struct Part {
    int tile;
    int k0, length;    // where it begins in K, and how much of K it is
    int slot;          // for its sums
    int first, parts;  // the first slot of the tile's parts, and how many they are
};

// ALIGNED: every row of B and C begins at a multiple of 16 bytes.
template <bool ALIGNED>
__device__ void multiply(const T* A, const T* B, T* C, int M, int N, int K, Part part) {
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
    int across = (N + BN - 1) / BN;
    int down = (M + BM - 1) / BM;
    int band = part.tile / (BAND * across) * BAND;
    int at = part.tile % (BAND * across);
    int height = min(BAND, down - band);
    int row0 = (band + at % height) * BM;  // the tile's corner in C
    int col0 = at / height * BN;
    // ANCHOR_END: mapping
    // ANCHOR: load
    // A is copied element by element, so that a row becomes a column; B vector by vector where
    // they are aligned.
    constexpr int W = ALIGNED ? V : 1;
    int am = tid / BK;
    int ak = tid % BK;
    int bk = tid / (BN / V);
    int bn = tid % (BN / V) * W;
    int rows = M - row0 - am;
    int cols = N - col0 - bn;
    const T* from_a = A + (row0 + am) * K + part.k0 + ak;
    const T* from_b = B + (part.k0 + bk) * N + col0 + bn;
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
    alignas(16) T c[TM * TN];  // moved: see level 7
    for (int i = 0; i < TM * TN; ++i)
        c[i] = __shfl_sync(~0u, acc[i / TN][i % TN], lane);
    if (part.parts > 1) {  // several blocks share the tile
        for (int i = 0; i < TM * TN; i += V)
            partial[part.slot][i / V][tid] = *(Vector*)&c[i];
        __threadfence();
        __syncthreads();  // this part's sums are in global memory
        if (!__syncthreads_or(tid == 0 && atomicAdd(&arrived[part.first], 1) == part.parts - 1))
            return;  // some arrive later
        __threadfence();
        for (T& sum : c)
            sum = 0;
        for (int slot = part.first; slot < part.first + part.parts; ++slot)
            #pragma unroll
            for (int i = 0; i < TM * TN; ++i)
                c[i] += partial[slot][i / V][tid].e[i % V];
        if (tid == 0)
            arrived[part.first] = 0;  // for the next launch
    }
    #pragma unroll
    for (int m = 0; m < TM; ++m)
        #pragma unroll
        for (int n = 0; n < TN; n += V) {
            int row = row0 + ty + m / V * LM * V + m % V;
            int col = col0 + tx + n * LN;
            if (row < M)
                store<ALIGNED>(&C[row * N + col], *(Vector*)&c[m * TN + n], N - col);
        }
    // ANCHOR_END: epilogue
}

extern "C" __global__ void __launch_bounds__(THREADS)
gemm_stream_k(const T* A, const T* B, T* C, int M, int N, int K) {
    // ANCHOR: share
    int tiles = (M + BM - 1) / BM * ((N + BN - 1) / BN);
    int steps = (K + BK - 1) / BK;
    int whole = tiles / BLOCKS * BLOCKS;     // tiles that fill rounds; the others are the row
    bool alone = blockIdx.x < whole;         // with a whole tile: its row is this tile alone
    int begin = alone ? blockIdx.x : whole;  // the row's first tile
    int row = alone ? steps : (tiles - whole) * steps;
    int each = alone ? steps : (row + BLOCKS - 1) / BLOCKS;  // a block's share of the row
    int block = blockIdx.x - begin;
    int end = min(block * each + each, row);
    for (int step = block * each; step < end; step += steps - step % steps) {
        int number = step / steps;  // of the tile in the row
        Part part;
        part.tile = begin + number;
        part.k0 = step % steps * BK;
        part.length = min(K - part.k0, (end - step) * BK);
        part.slot = block + number;  // one more for each block, and for each tile, of the row
        part.first = number * steps / each + number;
        part.parts = (number * steps + steps - 1) / each - number * steps / each + 1;
        if (N % V == 0)
            multiply<true>(A, B, C, M, N, K, part);
        else
            multiply<false>(A, B, C, M, N, K, part);
    }
    // ANCHOR_END: share
}
