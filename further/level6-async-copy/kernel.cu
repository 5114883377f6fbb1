// Level 6: asynchronous copies.
//
//   C = A * B      A is M x K, B is K x N, C is M x N; row-major, no padding.
//
// Level 5, but the tiles travel by cp.async: from global to shared memory without a stop in
// registers, and nobody waits for them. With STAGES buffers in shared memory, the next STAGES - 1
// tiles are on their way while the block computes with one.
//
// Given by LEVEL:  ELEMENT     float or double
//                  BM, BN, BK  tile of C per block is BM x BN; one step along K is BK
//                  WM, WN      tile of C per warp
//                  TM, TN      elements of C per thread
//                  STAGES      buffers in shared memory

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
static_assert(BM % WM == 0 && BN % WN == 0,
              "WM must divide BM and WN must divide BN: the warps cover the tile");
static_assert(WM % TM == 0 && WN % TN == 0 && LM * LN == 32 && LM % 2 == 0,
              "(WM / TM) * (WN / TN) must be the 32 lanes of a warp, an even number along M");
static_assert(TM % V == 0 && TN % V == 0,
              "TM and TN must be multiples of V = 16 / sizeof(T): they are moved as vectors");
static_assert(THREADS <= 1024,
              "(BM / WM) * (BN / WN) is the number of warps per block: at most 32");
static_assert(THREADS % BK == 0 && BM % (THREADS / BK) == 0,
              "the threads must copy whole rows of the tile of A, an element each, and BM evenly");
static_assert(THREADS * V % BN == 0 && BK % (THREADS * V / BN) == 0,
              "the threads must copy whole rows of the tile of B, a vector each, and BK evenly");
static_assert(STAGES >= 2, "STAGES must be at least 2: one to compute with, one to fill");
static_assert(STAGES * sizeof(Stage) <= 227 * 1024,
              "the stages must fit into 227 KiB of shared memory");

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

// ALIGNED: every row of B and C begins at a multiple of 16 bytes.
template <bool ALIGNED>
__device__ void multiply(const T* A, const T* B, T* C, int M, int N, int K) {
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
    int row0 = blockIdx.y * BM;  // the tile's corner in C
    int col0 = blockIdx.x * BN;
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
    const T* from_a = A + (row0 + am) * K + ak;
    const T* from_b = B + bk * N + col0 + bn;
    auto load = [&](Stage& stage, int left) {  // left: how much of K is left
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
    #pragma unroll
    for (int s = 0; s < STAGES - 1; ++s)
        load(stages[s], K - s * BK);
    int now = 0;
    int next = STAGES - 1;
    for (int left = K; left > 0; left -= BK) {
        // All copies but the newest STAGES - 2 groups have landed, this thread's and everyone's;
        // and everyone has read the tile before this one, which may be overwritten.
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
        __syncthreads();
        load(stages[next], left - (STAGES - 1) * BK);

        // Compute: (TM + TN) / V shared loads feed TM * TN multiply-adds.
        #pragma unroll
        for (int k = 0; k < BK; ++k) {
            Vector a[TM / V];
            Vector b[TN / V];
            for (int m = 0; m < TM / V; ++m)
                a[m] = *(Vector*)&stages[now].a[k][ty + m * LM * V];
            for (int n = 0; n < TN / V; ++n)
                b[n] = *(Vector*)&stages[now].b[k][tx + n * LN * V];
            for (int m = 0; m < TM; ++m)
                for (int n = 0; n < TN; ++n)
                    acc[m][n] += a[m / V].e[m % V] * b[n / V].e[n % V];
        }
        next = now;
        now = now + 1 < STAGES ? now + 1 : 0;
    }
    // ANCHOR_END: mainloop
    // ANCHOR: epilogue
    #pragma unroll
    for (int m = 0; m < TM; ++m)
        #pragma unroll
        for (int n = 0; n < TN; n += V) {
            int row = row0 + ty + m / V * LM * V + m % V;
            int col = col0 + tx + n * LN;
            if (row < M)
                store<ALIGNED>(&C[row * N + col], *(Vector*)&acc[m][n], N - col);
        }
    // ANCHOR_END: epilogue
}

extern "C" __global__ void __launch_bounds__(THREADS)
gemm_async_copy(const T* A, const T* B, T* C, int M, int N, int K) {
    if (N % V == 0)
        multiply<true>(A, B, C, M, N, K);
    else
        multiply<false>(A, B, C, M, N, K);
}
