// fma_vectors: vectorized memory access.
//
//   C = A * B      A is M x K, B is K x N, C is M x N; row-major, no padding.
//
// Level 2, but memory is moved 16 bytes at a time: a vector of V elements per load
// or store, from global to shared memory, from there to registers, and back. A is
// transposed on its way into shared memory, so that the elements of a column that a
// thread multiplies lie side by side. Storing columns and reading vectors would make
// bank conflicts; padding As and setting a thread's vectors apart avoids them.
//
// Given by KERNEL: ELEMENT     float or double
//                  BM, BN, BK  tile of C is BM x BN; one step along K is BK
//                  TM, TN      elements of C per thread
//                  CONFLICTS   0 avoids bank conflicts; 1 leaves them in (variant conflicts)

using T = ELEMENT;
constexpr int V = 16 / sizeof(T);  // elements in a vector
struct alignas(16) Vector {
    T e[V];
};
constexpr int THREADS = (BM / TM) * (BN / TN);
static_assert(BM % TM == 0 && BN % TN == 0,
              "TM must divide BM and TN must divide BN: the threads cover the tile");
static_assert(TM % V == 0 && TN % V == 0 && BK % V == 0,
              "TM, TN and BK must be multiples of V = 16 / sizeof(T): they are moved as vectors");
static_assert(THREADS <= 1024,
              "(BM / TM) * (BN / TN) is the number of threads per block: at most 1024");
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

extern "C" __global__ void gemm_vectorized(const T* A, const T* B, T* C, int M, int N, int K) {
    constexpr int PADDING = CONFLICTS ? 0 : V;
    __shared__ __align__(16) T As[BK][BM + PADDING];  // transposed: row k is column k of the tile
    __shared__ __align__(16) T Bs[BK][BN];
    // ANCHOR: mapping
    // A thread's vectors of columns lie STEP apart, so that neighbouring threads read neighbouring
    // vectors.
    constexpr int STEP = CONFLICTS ? V : BN / TN * V;
    int tid = threadIdx.x;
    int ty = tid / (BN / TN) * TM;  // this thread's first vectors in the tile
    int tx = tid % (BN / TN) * (CONFLICTS ? TN : V);
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
                a[m] = *(Vector*)&As[k][ty + m * V];
            for (int n = 0; n < TN / V; ++n)
                b[n] = *(Vector*)&Bs[k][tx + n * STEP];
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
            int row = row0 + ty + m;
            int col = col0 + tx + n / V * STEP;
            if (row < M)
                store(&C[row * N + col], *(Vector*)&acc[m][n], N - col, b_aligned);
        }
    // ANCHOR_END: epilogue
}
