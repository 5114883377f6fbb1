// Level 18: thin products.
//
//   C = A * B      A is M x K, B is K x N, C is M x N; row-major, no padding.
//
// Where C is a few columns wide, each element of A is needed a few times only: no tile would be
// read often enough to be worth a place in shared memory. Level 0 reads A in no good order, and
// has too few threads. So a warp reads some rows of A, once, straight into registers, many vectors
// at a time, and what it needs of B beside them, from the caches. Lanes and warps share out K, and
// add up their sums in the end: lanes by shuffles, warps in shared memory.
//
// Given by LEVEL:  ELEMENT     float or double
//                  BM, BN, BK  tile of C per block is BM x BN; one step along K is BK
//                  WM, WK      rows, and columns of A in a step, per warp

using T = ELEMENT;
constexpr int V = 16 / sizeof(T);  // elements in a vector
template <int W>
struct alignas(W * sizeof(T)) Vector {
    T e[W];
};
constexpr int SLICES = BK / WK;
constexpr int THREADS = BM / WM * SLICES * 32;
using Slices = T[SLICES][BM][BN];  // the sums of the slices of a step
static_assert(BM % WM == 0 && BK % WK == 0,
              "WM must divide BM and WK must divide BK: the warps cover a step");
static_assert(THREADS <= 1024,
              "(BM / WM) * (BK / WK) is the number of warps per block: at most 32");
static_assert((WM & (WM - 1)) == 0 && (BN & (BN - 1)) == 0,
              "WM and BN must be powers of two: lanes halve their sums");
static_assert(WK % (32 * V) == 0, "WK must be a multiple of 32 * V: a vector for each lane");
static_assert(WM * BN <= 128 && WM * WK <= 2048,
              "a lane's sums and what it reads in a step must have room in registers");
static_assert(sizeof(Slices) <= 48 * 1024,
              "the slices' sums must fit into 48 KiB of shared memory");

// W: elements of a row of A that a lane reads at a time; X: of a row of B.
template <int W, int X>
__device__ void multiply(const T* A, const T* B, T* C, int M, int N, int K, Slices& slices) {
    // ANCHOR: mapping
    int tid = threadIdx.x;
    int lane = tid % 32;
    int slice = tid / 32 % SLICES;
    int wm = tid / 32 / SLICES * WM;  // this warp's first row in the tile
    // Blocks that read the same rows of A follow each other.
    int across = (N + BN - 1) / BN;
    int down = across == 1 ? blockIdx.x : blockIdx.x / across;
    int row0 = down * BM;  // the tile's corner in C
    int col0 = (blockIdx.x - down * across) * BN;
    // ANCHOR_END: mapping

    // ANCHOR: mainloop
    // Rows and columns outside C are read from its last ones, and their sums are not stored.
    const T* from_a[WM];
    for (int m = 0; m < WM; ++m)
        from_a[m] = A + min(row0 + wm + m, M - 1) * K;
    int from_b[BN / X];
    for (int n = 0; n < BN / X; ++n)
        from_b[n] = min(col0 + n * X, N - X);
    T acc[WM][BN] = {};
    for (int k0 = slice * WK; k0 < K; k0 += BK) {
        // Load: all vectors of a step begin before the first multiply-add.
        constexpr int LOADS = WK / (32 * W);  // of each row of A
        Vector<W> a[LOADS][WM];
        Vector<X> b[LOADS][W][BN / X];
        #pragma unroll
        for (int i = 0; i < LOADS; ++i) {
            int k = k0 + (i * 32 + lane) * W;
            bool inside = k < K;
            #pragma unroll
            for (int m = 0; m < WM; ++m)
                a[i][m] = inside ? *(const Vector<W>*)&from_a[m][k] : Vector<W>{};
            if constexpr (W > 1) {  // B is one column, which is contiguous
                *(Vector<W>*)b[i] = inside ? *(const Vector<W>*)&B[k] : Vector<W>{};
            } else {
                #pragma unroll
                for (int n = 0; n < BN / X; ++n)
                    b[i][0][n] = inside ? *(const Vector<X>*)&B[k * N + from_b[n]] : Vector<X>{};
            }
        }
        // Compute: each element of A serves BN multiply-adds, each of B WM.
        #pragma unroll
        for (int i = 0; i < LOADS; ++i)
            #pragma unroll
            for (int w = 0; w < W; ++w)
                #pragma unroll
                for (int m = 0; m < WM; ++m)
                    #pragma unroll
                    for (int n = 0; n < BN; ++n)
                        acc[m][n] += a[i][m].e[w] * b[i][w][n / X].e[n % X];
    }
    // ANCHOR_END: mainloop

    // ANCHOR: epilogue
    // Lanes add up their sums: of two lanes, each gives away half of its sums and gets the other's
    // for the rest. One sum that is left, both add.
    constexpr int COUNT = WM * BN;
    T* sums = &acc[0][0];
    int at = 0;  // which of the sums is this lane's first
    #pragma unroll
    for (int left = COUNT, apart = 16; apart > 0; apart /= 2) {
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
    constexpr int KEPT = COUNT > 32 ? COUNT / 32 : 1;
    for (int j = 0; j < KEPT; ++j)
        slices[slice][wm + (at + j) / BN][(at + j) % BN] = sums[j];
    __syncthreads();  // the sums of all slices are in shared memory
    for (int i = tid; i < BM * BN; i += THREADS) {
        int row = row0 + i / BN;
        int col = col0 + i % BN;
        T sum = 0;
        for (int s = 0; s < SLICES; ++s)
            sum += slices[s][i / BN][i % BN];
        if (row < M && col < N)
            C[row * N + col] = sum;
    }
    // ANCHOR_END: epilogue
}

extern "C" __global__ void __launch_bounds__(THREADS)
gemm_thin(const T* A, const T* B, T* C, int M, int N, int K) {
    __shared__ T slices[SLICES][BM][BN];
    constexpr int W = BN == 1 ? V : 1;
    constexpr int X = BN < V ? BN : V;
    if (BN == 1 ? N == 1 && K % V == 0 : N % X == 0)  // vectors are whole, and aligned
        multiply<W, X>(A, B, C, M, N, K, slices);
    else
        multiply<1, 1>(A, B, C, M, N, K, slices);
}
