// Level 11: tensor cores.
//
//   C = A * B      A is M x K, B is K x N, C is M x N; row-major, no padding.
//
// Level 8, but a warp multiplies small matrices instead of numbers: one mma.sync instruction adds
// the product of 16 x 16 and 16 x 8 elements to 16 x 8 sums, all on the SM's tensor cores. The 32
// lanes hold a part of each, a fragment: lane 4 * g + t has rows g and g + 8 of A and C, column g
// of B, and of these a few elements that t tells. Of the sums that is a square of two by two.
//
// Level 8 was bound by the instructions that a warp can issue: an FFMA multiplies 32 pairs, an
// mma.sync 2,048. The hardware aligns the terms of a sum to the largest and cuts off what is more
// than 25 bits below it.
//
// Given by LEVEL:  INPUT_x     type of A, B and C; sums are float
//                  BM, BN, BK  tile of C per block is BM x BN; one step along K is BK
//                  WM, WN      tile of C per warp
//                  STAGES      buffers in shared memory

#if defined(INPUT_BF16)
#define TYPE "bf16"
#else
#define TYPE "f16"
#endif
using T = unsigned short;          // an element of A, B or C: its bits
constexpr int V = 16 / sizeof(T);  // elements in a vector
struct alignas(4) Pair {
    T e[2];
};
struct Stage {
    T a[BM][BK + V];  // a tile of A, padded: eight rows that ldmatrix reads use all banks
    T b[BK][BN + V];  // a tile of B
};
constexpr int LM = 8;        // lanes of a warp along M
constexpr int LN = 4;        // and along N
constexpr int TM = WM / LM;  // sums of a lane along M
constexpr int TN = WN / LN;  // and along N
constexpr int THREADS = (BM / WM) * (BN / WN) * 32;
constexpr int BAND = 8;  // rows of tiles that blocks go through together
static_assert(BM % WM == 0 && BN % WN == 0,
              "WM must divide BM and WN must divide BN: the warps cover the tile");
static_assert(WM % 16 == 0 && WN % 16 == 0,
              "WM and WN must be multiples of 16: a warp's tile is made of whole fragments");
static_assert(THREADS <= 1024,
              "(BM / WM) * (BN / WN) is the number of warps per block: at most 32");
static_assert(THREADS * V % BK == 0 && BM % (THREADS * V / BK) == 0,
              "the threads must copy whole rows of the tile of A, a vector each, and BM evenly");
static_assert(THREADS * V % BN == 0 && BK % (THREADS * V / BN) == 0,
              "the threads must copy whole rows of the tile of B, a vector each, and BK evenly");
static_assert(BK % 32 == 0 && STAGES >= 2,
              "BK must be a multiple of 32, for two sets of fragments, and STAGES at least 2");
static_assert(STAGES * sizeof(Stage) <= 227 * 1024,
              "the stages must fit into 227 KiB of shared memory");

// c += a * b, of a warp's fragments; in each lane, c is the square of sums at m and n.
__device__ void multiply_add(float (&c)[TM][TN], int m, int n, const unsigned* a,
                             const unsigned* b) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." TYPE "." TYPE ".f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[m][n]), "+f"(c[m][n + 1]), "+f"(c[m + 1][n]), "+f"(c[m + 1][n + 1])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Reads four matrices of 8 x 8 elements, of which each lane names a row, into a register each: of a
// row, or TRANSPOSED of a column, a lane gets two neighbours.
template <bool TRANSPOSED>
__device__ void load_matrix(unsigned* to, const T* row) {
    unsigned from = __cvta_generic_to_shared(row);
    if constexpr (TRANSPOSED)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(from));
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(from));
}

// Begins to copy BYTES bytes to shared memory; where they are not inside the matrix, zeros.
template <int BYTES>
__device__ void copy_async(T* to, const T* from, bool inside) {
    unsigned shared = __cvta_generic_to_shared(to);
    int bytes = inside ? BYTES : 0;
    if constexpr (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                     ::"r"(shared), "l"(from), "r"(bytes) : "memory");
    else
        *to = inside ? *from : 0;  // no asynchronous copy has two bytes
}

// Stores two neighbours of a row of C, of which `left` are inside the matrix.
template <bool ALIGNED>
__device__ void store(T* to, Pair sums, int left) {
    if (ALIGNED && left > 0)
        *(Pair*)to = sums;
    for (int v = 0; v < 2; ++v)
        if (!ALIGNED && v < left)
            to[v] = sums.e[v];
}

// ALIGNED: every row of A, B and C begins at a multiple of 16 bytes.
template <bool ALIGNED>
__device__ void multiply(const T* A, const T* B, T* C, int M, int N, int K) {
    extern __shared__ __align__(16) Stage stages[];
    // ANCHOR: mapping
    int tid = threadIdx.x;
    int lane = tid % 32;
    int warp = tid / 32;
    int wm = warp / (BN / WN);
    int wn = warp % (BN / WN);
    int g = lane / LN;      // this lane has rows g and g + 8 of A and C, and column g of B
    int t = lane % LN;      // and columns 2 * t and 2 * t + 1 of C
    int ty = wm * WM + g;  // this thread's first sums in the tile
    int tx = wn * WN + t * 2;
    // The blocks go through C band by band, and down each column of tiles in a band.
    int across = (N + BN - 1) / BN;
    int down = (M + BM - 1) / BM;
    int band = blockIdx.x / (BAND * across) * BAND;
    int at = blockIdx.x % (BAND * across);
    int height = min(BAND, down - band);
    int row0 = (band + at % height) * BM;  // the tile's corner in C
    int col0 = at / height * BN;
    // ANCHOR_END: mapping
    // ANCHOR: load
    // Vector by vector where they are aligned, else element by element.
    constexpr int W = ALIGNED ? V : 1;
    int am = tid / (BK / V);
    int ak = tid % (BK / V) * W;
    int bk = tid / (BN / V);
    int bn = tid % (BN / V) * W;
    int rows = M - row0 - am;
    int cols = N - col0 - bn;
    const T* from_a = A + (row0 + am) * K + ak;
    const T* from_b = B + bk * N + col0 + bn;
    auto load = [&](Stage& stage, int left) {  // left: how much of K is left
        #pragma unroll
        for (int i = 0; i < BM; i += THREADS * V / BK)
            for (int k = 0; k < BK; k += BK / V * W)
                copy_async<W * sizeof(T)>(&stage.a[am + i][ak + k], from_a + i * K + k,
                                          ak + k < left && i < rows);
        #pragma unroll
        for (int i = 0; i < BK; i += THREADS * V / BN)
            #pragma unroll 4
            for (int n = 0; n < BN; n += BN / V * W)
                copy_async<W * sizeof(T)>(&stage.b[bk + i][bn + n], from_b + i * N + n,
                                          bk + i < left && n < cols);
        from_a += BK;
        from_b += BK * N;
        asm volatile("cp.async.commit_group;");
    };
    // ANCHOR_END: load
    // ANCHOR: fragments
    float acc[TM][TN] = {};
    unsigned a[2][TM * 2];
    unsigned b[2][TN];
    constexpr int VECTORS = (TM * 2 + TN) / 4;
    constexpr int EVERY = TM * TN / 4 / VECTORS;
    // Reads four registers of fragments, of columns of A and rows of B from 16 * k on, into a set:
    // first those of A, then those of B.
    auto fetch = [&](int set, const Stage& stage, int k, int v) {
        int row = lane % 16;  // of the four matrices
        int col = lane / 16 * 8;
        if (v < TM / 2)
            load_matrix<false>(&a[set][v * 4], &stage.a[wm * WM + v * 16 + row][k * 16 + col]);
        else  // the first WM / 16 of all v were A's, for 16 of its rows each
            load_matrix<true>(&b[set][v * 4 - TM * 2],
                              &stage.b[k * 16 + row][wn * WN + v * 16 - WM + col]);
    };
    // ANCHOR_END: fragments
    // ANCHOR: mainloop
    // Waits until all copies but the newest STAGES - 2 groups have landed, everyone's.
    auto ready = [&] {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
        __syncthreads();
    };
    #pragma unroll
    for (int s = 0; s < STAGES - 1; ++s)
        load(stages[s], K - s * BK);
    ready();
    for (int v = 0; v < VECTORS; ++v)
        fetch(0, stages[0], 0, v);
    int now = 0;
    int next = STAGES - 1;
    for (int left = K; left > 0; left -= BK) {
        #pragma unroll
        for (int k = 0; k < BK / 16; ++k) {
            // Before the last rows: the next tile has landed, and everyone has read this one,
            // which may be overwritten.
            if (k == BK / 16 - 1) {
                ready();
                next = now;
                now = now + 1 < STAGES ? now + 1 : 0;
            }
            // Compute in squares of two by two, back and forth: neighbours share what they read
            // from the registers. Every EVERY squares, a part of the next rows is read.
            #pragma unroll
            for (int square = 0; square < TM * TN / 4; ++square) {
                if (k == 0 && square == TM * TN / 8)
                    load(stages[next], left - (STAGES - 1) * BK);
                if (square % EVERY == 0 && square / EVERY < VECTORS)
                    fetch((k + 1) % 2, stages[now], (k + 1) % (BK / 16), square / EVERY);
                int m = square / (TN / 2) * 2;
                int i = square % (TN / 2) * 2;
                int n = m % 4 ? TN - 2 - i : i;
                multiply_add(acc, m, n, &a[k % 2][m * 2], &b[k % 2][n]);
            }
        }
    }
    // ANCHOR_END: mainloop
    // ANCHOR: epilogue
    #pragma unroll
    for (int m = 0; m < TM; ++m)
        #pragma unroll
        for (int n = 0; n < TN; n += 2) {
            int row = row0 + ty + m * LM;
            int col = col0 + tx + n * LN;
            Pair sums;
            asm("cvt.rn." TYPE "x2.f32 %0, %1, %2;"
                : "=r"(*(unsigned*)&sums) : "f"(acc[m][n + 1]), "f"(acc[m][n]));
            if (row < M)
                store<ALIGNED>(&C[row * N + col], sums, N - col);
        }
    // ANCHOR_END: epilogue
}

extern "C" __global__ void __launch_bounds__(THREADS)
gemm_tensor_core(const T* A, const T* B, T* C, int M, int N, int K) {
    if (K % V == 0 && N % V == 0)
        multiply<true>(A, B, C, M, N, K);
    else
        multiply<false>(A, B, C, M, N, K);
}
