// Level 5: warp tiling.
//
//   C = A * B      A is M x K, B is K x N, C is M x N; row-major, no padding.
//
// Level 4, with the warp as a rung between block and thread: the 32 threads of a warp
// compute one WM x WN tile of C, as square as possible, so that together they read few
// different elements of As and Bs.
//
// Given by LEVEL:  ELEMENT     float or double
//                  BM, BN, BK  tile of C per block is BM x BN; one step along K is BK
//                  WM, WN      tile of C per warp
//                  TM, TN      elements of C per thread

using T = ELEMENT;
constexpr int V = 16 / sizeof(T);  // elements in a vector
struct alignas(16) Vector {
    T e[V];
};
constexpr int LM = WM / TM;  // lanes of a warp along M
constexpr int LN = WN / TN;  // and along N
constexpr int THREADS = (BM / WM) * (BN / WN) * 32;
static_assert(BM % WM == 0 && BN % WN == 0,
              "WM must divide BM and WN must divide BN: the warps cover the tile");
static_assert(WM % TM == 0 && WN % TN == 0 && LM * LN == 32 && LM % 2 == 0,
              "(WM / TM) * (WN / TN) must be the 32 lanes of a warp, an even number along M");
static_assert(TM % V == 0 && TN % V == 0 && BK % V == 0,
              "TM, TN and BK must be multiples of V = 16 / sizeof(T): they are moved as vectors");
static_assert(THREADS <= 1024,
              "(BM / WM) * (BN / WN) is the number of warps per block: at most 32");
static_assert(THREADS * V % BK == 0 && THREADS * V % BN == 0,
              "the threads must load whole rows of the tiles, a vector each");
static_assert(BM % (THREADS * V / BK) == 0 && BK % (THREADS * V / BN) == 0,
              "the threads must load BM rows of A and BK rows of B evenly");
static_assert((BM + V + BN) * BK * sizeof(T) <= 48 * 1024,
              "(BM + BN) * BK elements and a padding must fit into 48 KiB of shared memory");

// The V elements of a row from p on, of which `left` are inside the matrix; beyond the edge
// stand zeros.
__device__ Vector load(const T* p, int left, bool aligned) {
    Vector v = {};
    if (aligned && left >= V)
        return *(const Vector*)p;
    for (int i = 0; i < V; ++i)
        if (i < left)
            v.e[i] = p[i];
    return v;
}

// The same way back: what is beyond the edge is not stored.
__device__ void store(T* p, Vector v, int left, bool aligned) {
    if (aligned && left >= V)
        *(Vector*)p = v;
    else
        for (int i = 0; i < V; ++i)
            if (i < left)
                p[i] = v.e[i];
}

extern "C" __global__ void gemm_warp_tiling(const T* A, const T* B, T* C, int M, int N, int K) {
    __shared__ __align__(16) T As[BK][BM + V];  // transposed, row k is column k; and padded
    __shared__ __align__(16) T Bs[BK][BN];
    // ANCHOR: mapping
    int tid = threadIdx.x;
    int lane = tid % 32;
    int warp = tid / 32;
    int wm = warp / (BN / WN);
    int wn = warp % (BN / WN);
    // Lanes 0 and 1 share a vector of Bs, lanes 0 and 2 one of As, and so on: what two lanes share
    // is read once.
    int lm = lane % 2 + lane / (2 * LN) * 2;
    int ln = lane / 2 % LN;
    int ty = wm * WM + lm * V;  // this thread's first vectors in the tile
    int tx = wn * WN + ln * V;
    int row0 = blockIdx.y * BM;  // the tile's corner in C
    int col0 = blockIdx.x * BN;
    bool a_aligned = K % V == 0;  // do all rows of A begin at multiples of 16 bytes?
    bool b_aligned = N % V == 0;  // and those of B and C?
    // ANCHOR_END: mapping
    // ANCHOR: mainloop
    alignas(16) T acc[TM][TN] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        // Load: a thread takes a vector along K from A into a column of As, and a vector of B
        // as it is.
        #pragma unroll
        for (int i = 0; i < BM; i += THREADS * V / BK) {
            int m = i + tid / (BK / V);
            int k = tid % (BK / V) * V;
            Vector a = load(A + (row0 + m) * K + k0 + k, row0 + m < M ? K - k0 - k : 0, a_aligned);
            for (int v = 0; v < V; ++v)
                As[k + v][m] = a.e[v];
        }
        #pragma unroll
        for (int i = 0; i < BK; i += THREADS * V / BN) {
            int k = i + tid / (BN / V);
            int n = tid % (BN / V) * V;
            Vector b = load(B + (k0 + k) * N + col0 + n, k0 + k < K ? N - col0 - n : 0, b_aligned);
            *(Vector*)&Bs[k][n] = b;
        }
        __syncthreads();  // both tiles are full

        // Compute: (TM + TN) / V shared loads feed TM * TN multiply-adds.
        #pragma unroll
        for (int k = 0; k < BK; ++k) {
            Vector a[TM / V];
            Vector b[TN / V];
            for (int m = 0; m < TM / V; ++m)
                a[m] = *(Vector*)&As[k][ty + m * LM * V];
            for (int n = 0; n < TN / V; ++n)
                b[n] = *(Vector*)&Bs[k][tx + n * LN * V];
            for (int m = 0; m < TM; ++m)
                for (int n = 0; n < TN; ++n)
                    acc[m][n] += a[m / V].e[m % V] * b[n / V].e[n % V];
        }
        __syncthreads();  // everyone has read the tiles: they may be overwritten
    }
    // ANCHOR_END: mainloop
    // ANCHOR: epilogue
    for (int m = 0; m < TM; ++m)
        for (int n = 0; n < TN; n += V) {
            int row = row0 + ty + m / V * LM * V + m % V;
            int col = col0 + tx + n * LN;
            if (row < M)
                store(&C[row * N + col], *(Vector*)&acc[m][n], N - col, b_aligned);
        }
    // ANCHOR_END: epilogue
}
