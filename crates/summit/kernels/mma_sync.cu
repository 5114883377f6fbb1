// mma_sync: tensor cores.
//
//   C = alpha * A * B + beta * C      A is M x K, B is K x N, C is M x N; row-major, rows
//                                     lda, ldb and ldc apart. TRANSPOSED: B is stored N x K.
//
// Level 8, but a warp multiplies small matrices instead of numbers: one mma.sync instruction adds
// the product of 16 x MK and MK x 8 elements to 16 x 8 sums, all on the SM's tensor cores. The 32
// lanes hold a part of each, a fragment: lane 4 * g + t has rows g and g + 8 of A and C, column g
// of B, and of these a few elements that t tells.
//
// Given by KERNEL: INPUT_x, OUTPUT_x  types of A and B, and of C; or ELEMENT=double, for all
//                  BM, BN, BK         tile of C per block is BM x BN; one step along K is BK
//                  WM, WN             tile of C per warp
//                  STAGES             buffers in shared memory
//                  TRANSPOSED         0: B is stored K x N; 1: N x K
//                  ADDED              0: beta is 0, and C is only written; 1: beta * C is added

#if defined(INPUT_BF16) || defined(INPUT_F16)
using T = unsigned short;  // an element of A or B: its bits
using Part = unsigned;     // a register of a fragment: two elements
using Sum = float;
constexpr int MK = 16;
#elif defined(INPUT_TF32)
using T = float;
using Part = unsigned;
using Sum = float;
constexpr int MK = 8;
#else
using T = double;
using Part = double;
using Sum = double;
constexpr int MK = 8;
#endif
#if defined(OUTPUT_BF16) || defined(OUTPUT_F16)
using Out = unsigned short;
#else
using Out = Sum;
#endif

constexpr int V = 16 / sizeof(T);  // elements in a vector
struct alignas(16) Vector {
    T e[V];
};
// Tiles lie as their matrices do. Rows are padded so that a warp reads a fragment from all banks at
// once: those along K, and those across it.
constexpr int ALONG = sizeof(T) == 8 ? 4 : V;
constexpr int BESIDE = sizeof(T) == 2 ? V : 32 / sizeof(T);
constexpr int ROWS_B = TRANSPOSED ? BN : BK;
constexpr int COLS_B = TRANSPOSED ? BK : BN;
struct Stage {
    T a[BM][BK + ALONG];  // a tile of A
    T b[ROWS_B][COLS_B + (TRANSPOSED ? ALONG : BESIDE)];  // a tile of B
};
constexpr int THREADS = (BM / WM) * (BN / WN) * 32;
constexpr int BAND = 8;  // rows of tiles that blocks go through together
constexpr int FM = WM / 16;  // fragments of a warp along M
constexpr int FN = WN / 8;   // and along N
constexpr int EACH = (FN / 2 + FM - 1) / FM * 2;  // those of B that are read with one of A
static_assert(BM % WM == 0 && BN % WN == 0,
              "WM must divide BM and WN must divide BN: the warps cover the tile");
static_assert(WM % 16 == 0 && WN % 16 == 0,
              "WM and WN must be multiples of 16: a warp's tile is made of whole fragments");
static_assert(THREADS <= 1024,
              "(BM / WM) * (BN / WN) is the number of warps per block: at most 32");
static_assert(BK % (2 * MK) == 0 && STAGES >= 2,
              "BK must be a multiple of two products' depth, for two sets of registers, and STAGES "
              "at least 2");
static_assert(BM * BK % (THREADS * V) == 0 && BK * BN % (THREADS * V) == 0,
              "the threads must copy both tiles evenly, a vector each");
static_assert(THREADS * V % BK == 0 && THREADS * V % COLS_B == 0,
              "the threads must copy whole rows of both tiles");
static_assert(STAGES * sizeof(Stage) <= 227 * 1024,
              "the stages must fit into 227 KiB of shared memory");

// What the caller gives.
struct Product {
    const T* A;
    const T* B;
    Out* C;
    int M, N, K;
    int lda, ldb, ldc;
    Sum alpha, beta;
};

// c += a * b, of a warp's fragments.
__device__ void multiply_add(Sum (&c)[4], const Part (&a)[4], const Part (&b)[2]) {
#if defined(INPUT_BF16)
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
#elif defined(INPUT_F16)
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
#elif defined(INPUT_TF32)
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
#else
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 "
#endif
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
#if defined(ELEMENT)
                 : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
                 : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#else
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}

// Reads four matrices of 8 x 8 elements of 16 bits, of which each lane names a row, into a register
// each: of a row, or TURNED of a column, a lane gets two neighbours.
template <bool TURNED>
__device__ void load_matrix(Part* to, const T* row) {
    unsigned from = __cvta_generic_to_shared(row);
    if constexpr (TURNED)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(from));
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(from));
}

// Copies a vector of a row to shared memory, of which `left` elements are inside the matrix; beyond
// the edge stand zeros. It is asynchronous if the row is ALIGNED; else element by element, if one
// has at least 4 bytes.
template <bool ALIGNED>
__device__ void copy(T* to, const T* from, int left) {
    unsigned shared = __cvta_generic_to_shared(to);
    if constexpr (ALIGNED) {
        int bytes = left > 0 ? 16 : 0;
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                     ::"r"(shared), "l"(from), "r"(bytes) : "memory");
    } else if constexpr (sizeof(T) >= 4) {
        for (int i = 0; i < V; ++i) {
            int bytes = i < left ? sizeof(T) : 0;
            asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;"
                         ::"r"(shared + i * (int)sizeof(T)), "l"(from + i), "n"(sizeof(T)),
                           "r"(bytes) : "memory");
        }
    } else {
        Vector v = {};
        for (int i = 0; i < V; ++i)
            if (i < left)
                v.e[i] = from[i];
        *(Vector*)to = v;
    }
}

__device__ Sum number(Out x) {
#if defined(OUTPUT_BF16)
    return __uint_as_float((unsigned)x << 16);
#elif defined(OUTPUT_F16)
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x));
    return y;
#else
    return x;
#endif
}

// Two neighbours of a row of C, of which `left` are inside the matrix.
__device__ void store(Out* to, Sum x, Sum y, int left, bool paired, Sum alpha, Sum beta) {
    struct alignas(2 * sizeof(Out)) Pair {
        Out x, y;
    } pair;
    x *= alpha;
    y *= alpha;
    if (ADDED && paired && left > 0) {
        pair = *(Pair*)to;
        x += beta * number(pair.x);
        y += beta * number(pair.y);
    }
    if (ADDED && !paired && left > 0)
        x += beta * number(to[0]);
    if (ADDED && !paired && left > 1)
        y += beta * number(to[1]);
#if defined(OUTPUT_BF16)
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(*(unsigned*)&pair) : "f"(y), "f"(x));
#elif defined(OUTPUT_F16)
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(*(unsigned*)&pair) : "f"(y), "f"(x));
#else
    pair = {x, y};
#endif
    if (paired && left > 0)
        *(Pair*)to = pair;
    if (!paired && left > 0)
        to[0] = pair.x;
    if (!paired && left > 1)
        to[1] = pair.y;
}

// ALIGNED: every row of A and B begins at a multiple of 16 bytes, and is whole vectors.
template <bool ALIGNED>
__device__ void multiply(const Product& p) {
    extern __shared__ __align__(16) Stage stages[];
    // ANCHOR: mapping
    int tid = threadIdx.x;
    int lane = tid % 32;
    int warp = tid / 32;
    int wm = warp / (BN / WN) * WM;  // the warp's corner in the tile
    int wn = warp % (BN / WN) * WN;
    int g = lane / 4;
    int t = lane % 4;
    // The blocks go through C band by band, and down each column of tiles in a band.
    int across = (p.N + BN - 1) / BN;
    int down = (p.M + BM - 1) / BM;
    int band = blockIdx.x / (BAND * across) * BAND;
    int at = blockIdx.x % (BAND * across);
    int height = min(BAND, down - band);
    int row0 = (band + at % height) * BM;  // the tile's corner in C
    int col0 = at / height * BN;
    // ANCHOR_END: mapping
    // ANCHOR: load
    int am = tid / (BK / V);
    int ak = tid % (BK / V) * V;
    int br = tid / (COLS_B / V);  // a row of B as it is stored
    int bc = tid % (COLS_B / V) * V;
    int cols = p.N - col0;
    const T* from_a = p.A + (row0 + am) * p.lda + ak;
    const T* from_b = p.B + (TRANSPOSED ? (col0 + br) * p.ldb + bc : br * p.ldb + col0 + bc);
    auto load = [&](Stage& stage, int left) {  // left: how much of K is left
        #pragma unroll
        for (int i = 0; i < BM; i += THREADS * V / BK)
            copy<ALIGNED>(&stage.a[am + i][ak], from_a + i * p.lda,
                          row0 + am + i < p.M ? left - ak : 0);
        #pragma unroll
        for (int i = 0; i < ROWS_B; i += THREADS * V / COLS_B)
            copy<ALIGNED>(&stage.b[br + i][bc], from_b + i * p.ldb,
                          br + i < (TRANSPOSED ? cols : left) ? (TRANSPOSED ? left : cols) - bc : 0);
        from_a += BK;
        from_b += TRANSPOSED ? BK : BK * p.ldb;
        asm volatile("cp.async.commit_group;");
    };
    // ANCHOR_END: load
    // ANCHOR: fragments
    Sum acc[FM][FN][4] = {};
    Part a[2][FM][4];
    Part b[2][FN][2];
    // Reads into a set of registers, of the fragments of MK columns of A and MK rows of B, those of
    // A's row m, and as many of B's.
    auto fetch = [&](int set, const Stage& stage, int k, int m) {
        int row = wm + 16 * m;
        if constexpr (sizeof(T) == 2)
            load_matrix<false>(a[set][m], &stage.a[row + lane % 16][k + lane / 16 * 8]);
        else
            for (int i = 0; i < 4; ++i)
                a[set][m][i] = *(Part*)&stage.a[row + g + i % 2 * 8][k + t + i / 2 * 4];
        #pragma unroll
        for (int n = m * EACH; n < min((m + 1) * EACH, FN); n += 2) {
            int col = wn + 8 * n;
            if constexpr (sizeof(T) == 2 && TRANSPOSED)
                load_matrix<false>(b[set][n], &stage.b[col + lane / 16 * 8 + lane % 8]
                                                      [k + lane / 8 % 2 * 8]);
            else if constexpr (sizeof(T) == 2)
                load_matrix<true>(b[set][n], &stage.b[k + lane % 16][col + lane / 16 * 8]);
            else
                for (int i = 0; i < 4; ++i)
                    b[set][n + i / 2][i % 2] =
                        *(Part*)(TRANSPOSED ? &stage.b[col + g + i / 2 * 8][k + t + i % 2 * 4]
                                            : &stage.b[k + t + i % 2 * 4][col + g + i / 2 * 8]);
        }
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
        load(stages[s], p.K - s * BK);
    ready();
    #pragma unroll
    for (int m = 0; m < FM; ++m)
        fetch(0, stages[0], 0, m);
    int now = 0;
    int next = STAGES - 1;
    for (int left = p.K; left > 0; left -= BK) {
        #pragma unroll
        for (int k = 0; k < BK / MK; ++k) {
            // Before the last products: the next tile has landed, and everyone has read this one,
            // which may be overwritten.
            if (k == BK / MK - 1) {
                ready();
                next = now;
                now = now + 1 < STAGES ? now + 1 : 0;
            }
            // Compute row by row, back and forth; before each, some of the next fragments are read.
            #pragma unroll
            for (int m = 0; m < FM; ++m) {
                fetch((k + 1) % 2, stages[now], (k + 1) * MK % BK, m);
                if (k == 0 && m == FM / 2)
                    load(stages[next], left - (STAGES - 1) * BK);
                #pragma unroll
                for (int i = 0; i < FN; ++i) {
                    int n = m % 2 ? FN - 1 - i : i;
                    multiply_add(acc[m][n], a[k % 2][m], b[k % 2][n]);
                }
            }
        }
    }
    // ANCHOR_END: mainloop
    // ANCHOR: epilogue
    bool paired = (p.N | p.ldc) % 2 == 0 && (size_t)p.C % (2 * sizeof(Out)) == 0;
    #pragma unroll
    for (int m = 0; m < FM; ++m)
        #pragma unroll
        for (int n = 0; n < FN; ++n)
            #pragma unroll
            for (int half = 0; half < 2; ++half) {
                int row = row0 + wm + 16 * m + 8 * half + g;
                int col = col0 + wn + 8 * n + 2 * t;
                if (row < p.M)
                    store(&p.C[row * p.ldc + col], acc[m][n][2 * half], acc[m][n][2 * half + 1],
                          p.N - col, paired, p.alpha, p.beta);
            }
    // ANCHOR_END: epilogue
}

extern "C" __global__ void __launch_bounds__(THREADS)
gemm_tensor_core(const T* A, const T* B, Out* C, int M, int N, int K, int lda, int ldb, int ldc,
                 Sum alpha, Sum beta) {
    Product p = {A, B, C, M, N, K, lda, ldb, ldc, alpha, beta};
    bool whole = (K | (TRANSPOSED ? K : N) | lda | ldb) % V == 0;
    if (whole && ((size_t)A | (size_t)B) % 16 == 0)
        multiply<true>(p);
    else
        multiply<false>(p);
}
