// fma_rows: few rows.
//
//   C = alpha * A * B + beta * C      A is M x K, B is K x N, or stored as N x K; C is M x N
//
// Where C has few rows, each element of B is needed once, and its way from memory is all that takes
// time. If B is stored as N x K, its columns lie in memory as the rows of A do: along K. So a warp
// takes some of both, and its lanes share out K: each reads vectors straight into registers, many
// of them before it needs the first. In the end lanes add up their sums by shuffles. Of a B that is
// stored as K x N, lanes read single elements, far apart: that is right, and slow.
//
// Given by KERNEL: ELEMENT     float or double
//                  ROWS, COLS  elements of C per warp are ROWS x COLS
//                  WARPS       warps of a block, side by side
//                  DEEP        vectors of each column of B that a lane reads at a time
//                  TRANSPOSED  1 if B is stored as N x K
//                  ADDED       1 if beta is not 0

using T = ELEMENT;
constexpr int V = 16 / sizeof(T);  // elements in a vector
template <int W>
struct alignas(W * sizeof(T)) Some {
    T e[W];
};
constexpr int COUNT = ROWS * COLS;  // sums of a lane
static_assert(COUNT >= 1 && COUNT <= 32 && 32 % COUNT == 0,
              "ROWS * COLS must be 1, 2, 4, 8, 16 or 32: lanes halve their sums");
static_assert(WARPS >= 1 && WARPS <= 32, "WARPS must be from 1 to 32: a block has so many at most");
static_assert(DEEP >= 1 && DEEP * COLS <= 32,
              "DEEP must be at least 1, and DEEP * COLS at most 32: all that is read has registers");

// What the caller gives.
struct Product {
    const T* A;
    const T* B;
    T* C;
    int M, N, K, lda, ldb, ldc;
    T alpha, beta;
};

// W: elements that a lane reads at a time.
template <int W>
__device__ void multiply(const Product& p) {
    // ANCHOR: mapping
    int lane = threadIdx.x % 32;
    int warp = threadIdx.x / 32;
    // Blocks with the same columns follow each other: B is read from memory once.
    int down = (p.M - 1) / ROWS + 1;
    int row0 = blockIdx.x % down * ROWS;  // the warp's corner in C
    int col0 = (blockIdx.x / down * WARPS + warp) * COLS;
    if (col0 >= p.N)
        return;
    // Rows and columns outside C are read from its last ones, and their sums are not stored.
    const T* from_a[ROWS];
    for (int m = 0; m < ROWS; ++m)
        from_a[m] = p.A + min(row0 + m, p.M - 1) * (long long)p.lda;
    const T* from_b[COLS];
    for (int n = 0; n < COLS; ++n)
        from_b[n] = p.B + min(col0 + n, p.N - 1) * (TRANSPOSED ? (long long)p.ldb : 1);
    // ANCHOR_END: mapping
    // ANCHOR: mainloop
    T acc[ROWS][COLS] = {};
    for (int k0 = lane * W; k0 < p.K; k0 += 32 * W * DEEP) {
        Some<W> b[DEEP][COLS];
        #pragma unroll
        for (int d = 0; d < DEEP; ++d) {
            int k = k0 + d * 32 * W;
            #pragma unroll
            for (int n = 0; n < COLS; ++n) {
                const T* from = from_b[n] + k * (TRANSPOSED ? 1 : (long long)p.ldb);
                b[d][n] = k < p.K ? *(const Some<W>*)from : Some<W>{};
            }
        }
        #pragma unroll
        for (int d = 0; d < DEEP; ++d) {
            int k = k0 + d * 32 * W;
            #pragma unroll
            for (int m = 0; m < ROWS; ++m) {
                Some<W> a = k < p.K ? *(const Some<W>*)&from_a[m][k] : Some<W>{};
                #pragma unroll
                for (int n = 0; n < COLS; ++n)
                    #pragma unroll
                    for (int w = 0; w < W; ++w)
                        acc[m][n] += a.e[w] * b[d][n].e[w];
            }
        }
    }
    // ANCHOR_END: mainloop
    // ANCHOR: epilogue
    // Of two lanes, each gives away half of its sums and gets the other's for the rest. One sum
    // that is left, both add.
    T* sums = &acc[0][0];
    int at = 0;  // which of the sums is this lane's first
    #pragma unroll
    for (int left = COUNT, apart = 16; apart >= 1; apart /= 2) {
        bool upper = lane & apart;
        if (left > 1) {
            left /= 2;
            #pragma unroll
            for (int j = 0; j < COUNT / 2; ++j) {
                if (j >= left)
                    continue;
                T give = upper ? sums[j] : sums[j + left];
                T keep = upper ? sums[j + left] : sums[j];
                sums[j] = keep + __shfl_xor_sync(~0u, give, apart);
            }
            at += upper ? left : 0;
        } else {
            sums[0] += __shfl_xor_sync(~0u, sums[0], apart);
        }
    }
    // Of neighbours that have the same sum, the first one stores it.
    int row = row0 + at / COLS;
    int col = col0 + at % COLS;
    if (lane % (32 / COUNT) != 0 || row >= p.M || col >= p.N)
        return;
    T& to = p.C[row * (long long)p.ldc + col];
    to = p.alpha * sums[0] + (ADDED ? p.beta * to : 0);
    // ANCHOR_END: epilogue
}

extern "C" __global__ void __launch_bounds__(WARPS * 32)
gemm_rows(const T* A, const T* B, T* C, int M, int N, int K, int lda, int ldb, int ldc, T alpha,
          T beta) {
    Product p = {A, B, C, M, N, K, lda, ldb, ldc, alpha, beta};
    if (TRANSPOSED && (K | lda | ldb) % V == 0)
        multiply<V>(p);
    else
        multiply<1>(p);
}
