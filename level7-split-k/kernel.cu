// Level 7: split-K.
//
//   C = A * B      A is M x K, B is K x N, C is M x N; row-major, no padding.
//
// Level 6 for a C with too few tiles to fill the card: K is shared out, too. Within a
// block, SLICES warps work on the same elements of C, each on its WK of every step, and
// their sums are added in shared memory. Across blocks, K is cut into SPLIT parts: a block
// works on one part of one tile and leaves its sums in global memory, and the last block
// of a tile adds them up, always in the same order.
//
// Given by LEVEL:  ELEMENT     float or double
//                  BM, BN, BK  tile of C per block is BM x BN; one step along K is BK
//                  WM, WN, WK  the same per warp
//                  TM, TN      elements of C per thread
//                  STAGES      buffers in shared memory
//                  SPLIT       parts of K

using T = ELEMENT;
constexpr int V = 16 / sizeof(T);  // elements in a vector
struct alignas(16) Vector { T e[V]; };
struct Stage { T a[BK][BM + V], b[BK][BN]; };  // a tile of A, transposed and padded, and a tile of B
constexpr int LM = WM / TM, LN = WN / TN;      // lanes of a warp along M and N
constexpr int SLICES = BK / WK, THREADS = (BM / WM) * (BN / WN) * SLICES * 32;
constexpr int ROOM = SPLIT > 1 ? 1 << 22 : BM * BN;  // elements that the sums of all parts may have
constexpr int GROUP = 8;  // rows of tiles in a band, whose blocks run together: what they share stays in the L2 cache
static_assert(BM % WM == 0 && BN % WN == 0 && BK % WK == 0, "WM, WN and WK must divide BM, BN and BK: the warps cover the tile");
static_assert(WM % TM == 0 && WN % TN == 0 && LM * LN == 32 && LM % 2 == 0, "(WM / TM) * (WN / TN) must be the 32 lanes of a warp, an even number of them along M");
static_assert(TM % V == 0 && TN % V == 0, "TM and TN must be multiples of V = 16 / sizeof(T): they are read as vectors");
static_assert(THREADS <= 1024, "(BM / WM) * (BN / WN) * (BK / WK) is the number of warps per block: at most 32");
static_assert(THREADS % BK == 0 && BM % (THREADS / BK) == 0, "the threads must copy whole rows of the tile of A, an element each, and BM rows evenly");
static_assert(THREADS * V % BN == 0 && BK % (THREADS * V / BN) == 0, "the threads must copy whole rows of the tile of B, a vector each, and BK rows evenly");
static_assert(WK % 2 == 0 && STAGES >= 2, "WK must be even, for two sets of registers, and STAGES at least 2");
static_assert(STAGES * sizeof(Stage) <= 227 * 1024, "the stages must fit into 227 KiB of shared memory");
static_assert(SLICES * BM * BN * sizeof(T) <= 227 * 1024, "the slices' sums must fit into 227 KiB of shared memory");
static_assert(SPLIT >= 1 && SPLIT * BM * BN <= ROOM, "SPLIT must be at least 1, and SPLIT * BM * BN at most 4194304: the sums of a tile must have room");

// Begins to copy BYTES bytes to shared memory; where they are not inside the matrix, zeros.
template <int BYTES>
__device__ void copy_async(T* to, const T* from, bool inside) {
    unsigned shared = __cvta_generic_to_shared(to);
    if constexpr (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(from), "r"(inside ? 16 : 0) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared), "l"(from), "n"(BYTES), "r"(inside ? BYTES : 0) : "memory");
}

__device__ __align__(16) T partial[ROOM];          // for each tile, the sums of each part
__device__ int arrived[ROOM / (SPLIT * BM * BN)];  // for each tile, how many parts' sums are there

// ALIGNED: every row of B and C begins at a multiple of 16 bytes.
template <bool ALIGNED>
__device__ void multiply(const T* A, const T* B, T* C, int M, int N, int K) {
    extern __shared__ __align__(16) Stage stages[];
    // ANCHOR: mapping
    int tid = threadIdx.x, lane = tid % 32, warp = tid / 32, slice = SLICES > 1 ? warp / (BN / WN * (BM / WM)) : 0;
    int ty = warp / (BN / WN) % (BM / WM) * WM + (lane % 2 + lane / (2 * LN) * 2) * V, tx = warp % (BN / WN) * WN + lane / 2 % LN * V;
    // The blocks go through C band by band, and down each column of tiles in a band.
    int across = (N + BN - 1) / BN, down = (M + BM - 1) / BM;
    int band = blockIdx.x / (GROUP * across) * GROUP, at = blockIdx.x % (GROUP * across), height = min(GROUP, down - band);
    int row0 = (band + at % height) * BM, col0 = at / height * BN;  // the tile's corner in C
    // This block's part of K, in whole steps. Where the sums of all tiles have no room, one block does a whole tile.
    int parts = across * down <= ROOM / (SPLIT * BM * BN) ? SPLIT : 1, part = blockIdx.y, steps = (K + BK - 1) / BK;
    int k0 = (long long)steps * part / parts * BK, length = min(K, int((long long)steps * (part + 1) / parts * BK)) - k0;
    if (part >= parts) return;
    // ANCHOR_END: mapping
    // ANCHOR: load
    // A is copied element by element, so that a row becomes a column; B vector by vector where they are aligned.
    constexpr int W = ALIGNED ? V : 1;
    int am = tid / BK, ak = tid % BK, bk = tid / (BN / V), bn = tid % (BN / V) * W, rows = M - row0 - am, cols = N - col0 - bn;
    const T *from_a = A + (row0 + am) * K + k0 + ak, *from_b = B + (k0 + bk) * N + col0 + bn;
    auto load = [&](Stage& stage, int left) {  // left: how much of K is left
        #pragma unroll
        for (int i = 0; i < BM; i += THREADS / BK) copy_async<sizeof(T)>(&stage.a[ak][am] + i, from_a + i * K, ak < left && i < rows);
        #pragma unroll
        for (int i = 0; i < BK; i += THREADS * V / BN)
            for (int n = 0; n < BN; n += BN / V * W)
                copy_async<W * sizeof(T)>(&stage.b[bk][bn] + i * BN + n, from_b + i * N + n, bk + i < left && n < cols);
        from_a += BK, from_b += BK * N;
    };
    // ANCHOR_END: load
    // ANCHOR: mainloop
    alignas(16) T acc[TM][TN] = {}, a[2][TM], b[2][TN];
    auto fetch = [&](int set, const Stage& stage, int k) {
        for (int m = 0; m < TM; m += V) *(Vector*)&a[set][m] = *(Vector*)&stage.a[k][ty + m * LM];
        for (int n = 0; n < TN; n += V) *(Vector*)&b[set][n] = *(Vector*)&stage.b[k][tx + n * LN];
    };
    auto ready = [&] {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
        __syncthreads();  // all copies but the newest STAGES - 2 groups have landed, this thread's and everyone's
    };
    #pragma unroll
    for (int s = 0; s < STAGES - 1; ++s) {
        if (s * BK < length) load(stages[s], length - s * BK);
        asm volatile("cp.async.commit_group;");
    }
    ready();
    fetch(0, stages[0], slice * WK);
    for (int left = length, now = 0, next = STAGES - 1; left > 0; left -= BK) {
        #pragma unroll
        for (int k = 0; k < WK; ++k) {
            if (k == WK - 1) ready(), now = now + 1 < STAGES ? now + 1 : 0;
            fetch((k + 1) % 2, stages[now], slice * WK + (k + 1) % WK);
            if (k == 0) {  // everyone has read the buffer of the step before: it may be overwritten
                if (left > (STAGES - 1) * BK) load(stages[next], left - (STAGES - 1) * BK);
                asm volatile("cp.async.commit_group;");
                next = next + 1 < STAGES ? next + 1 : 0;
            }
            // Compute: two by two, back and forth, so that neighbours share what they read from the registers.
            for (int m = 0; m < TM; m += 2)
                for (int i = 0; i < TN; i += 2)
                    for (int j = 0, n = m % 4 ? TN - 2 - i : i; j < 4; ++j)
                        acc[m + j % 2][n + j / 2] += a[k % 2][m + j % 2] * b[k % 2][n + j / 2];
        }
    }
    // ANCHOR_END: mainloop
    // ANCHOR: epilogue
    auto add = [&](const T* sums, int count) {
        Vector sum = *(Vector*)sums;
        for (int i = 1; i < count; ++i)
            for (int v = 0; v < V; ++v) sum.e[v] += sums[i * BM * BN + v];
        return sum;
    };
    auto store = [&](int row, int col, Vector v) {
        if (ALIGNED && row < M && col < N) *(Vector*)&C[row * N + col] = v;
        for (int i = 0; i < V; ++i)
            if (!ALIGNED && row < M && col + i < N) C[row * N + col + i] = v.e[i];
    };
    T *sums = (T*)stages, *tile = &partial[parts > 1 ? blockIdx.x * SPLIT * BM * BN : 0];
    __syncthreads();  // everyone has read the last stage: it may be overwritten
    for (int m = 0; m < TM; ++m)
        for (int n = 0; n < TN; n += V)
            *(Vector*)&sums[(slice * BM + ty + m / V * LM * V + m % V) * BN + tx + n * LN] = *(Vector*)&acc[m][n];
    __syncthreads();  // the slices' sums are in shared memory
    for (int i = tid * V; i < BM * BN; i += THREADS * V)
        if (parts == 1) store(row0 + i / BN, col0 + i % BN, add(sums + i, SLICES));
        else *(Vector*)&tile[part * BM * BN + i] = add(sums + i, SLICES);
    if (parts == 1) return;
    __threadfence();
    __syncthreads();  // this part's sums are in global memory
    if (!__syncthreads_or(tid == 0 && atomicAdd(&arrived[blockIdx.x], 1) == SPLIT - 1)) return;  // not the last block
    __threadfence();
    for (int i = tid * V; i < BM * BN; i += THREADS * V) store(row0 + i / BN, col0 + i % BN, add(tile + i, SPLIT));
    if (tid == 0) arrived[blockIdx.x] = 0;  // for the next launch
    // ANCHOR_END: epilogue
}

extern "C" __global__ void __launch_bounds__(THREADS) gemm_split_k(const T* A, const T* B, T* C, int M, int N, int K) {
    if (N % V == 0) multiply<true>(A, B, C, M, N, K);
    else multiply<false>(A, B, C, M, N, K);
}
