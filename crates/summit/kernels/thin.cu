// thin: thin products.
//
//   C = A * B      A is M x K, B is K x N, C is M x N; row-major, no padding.
//
// Where C is a few columns wide, each element of A is needed a few times only, and where it is a
// few rows high, each of B: no tile would be read often enough to be worth a place in shared
// memory. So each warp reads its part of the large matrix once, straight into registers, many
// loads at a time, and the small one beside it, from the caches. Lanes and warps share out K, and
// add up their sums in the end: lanes by shuffles, warps in shared memory, blocks in global memory.
//
// Given by KERNEL: INPUT_x, OUTPUT_x  types of A and B, and of C; or ELEMENT=double, for all
//                  BM, BN, BK         tile of C per block is BM x BN; one step along K is BK
//                  WM, WN, WK         the same per warp
//                  SPLIT              parts of K, a block each

#if defined(INPUT_BF16) || defined(INPUT_F16)
using T = unsigned short;  // an element of A or B: its bits
using Sum = float;
#elif defined(INPUT_TF32)
using T = float;
using Sum = float;
#else
using T = ELEMENT;
using Sum = ELEMENT;
#endif
#if defined(OUTPUT_BF16) || defined(OUTPUT_F16)
using Out = unsigned short;
#else
using Out = Sum;
#endif

constexpr int V = 16 / sizeof(T);  // elements in a vector
template <int W>
struct alignas(W * sizeof(T)) Some {
    T e[W];
};
constexpr bool TALL = BM >= BN;  // A is the large matrix; else B
constexpr int SLICES = BK / WK;
constexpr int THREADS = (BM / WM) * (BN / WN) * SLICES * 32;
constexpr int ROOM = SPLIT > 1 ? 1 << 18 : BM * BN;  // elements that the sums of all parts may have
constexpr int TILES = ROOM / (SPLIT * BM * BN);      // tiles for which there is room
using Slices = Sum[SLICES][BM][BN];                  // the sums of the slices of a step
using Parts = Sum[SPLIT][BM][BN];                    // and of the parts of K, for a tile
__device__ Parts partial[TILES];
__device__ int arrived[TILES];  // for each tile, how many parts' sums are there
static_assert(BM % WM == 0 && BN % WN == 0 && BK % WK == 0,
              "WM, WN and WK must divide BM, BN and BK: the warps cover the tile");
static_assert(THREADS <= (SPLIT > 1 ? 512 : 1024),
              "(BM / WM) * (BN / WN) * (BK / WK) is the number of warps per block: at most 32, "
              "and 16 where SPLIT is more than 1");
static_assert((WM & (WM - 1)) == 0 && (WN & (WN - 1)) == 0,
              "WM and WN must be powers of two: lanes halve their sums");
static_assert(TALL ? WK % (32 * V) == 0
                   : WN % V == 0 && WN <= 32 * V && WK % (32 * V / WN) == 0,
              "a warp must read whole vectors: 32 of each row of A, or rows of B of at most 32");
static_assert(WM * (TALL ? WN : WN / 32 > V ? WN / 32 : V) <= 128 && WM * WK <= 2048,
              "a lane's sums and what it reads in a step must have room in registers");
static_assert(sizeof(Slices) <= 48 * 1024,
              "the slices' sums must fit into 48 KiB of shared memory");
static_assert(SPLIT >= 1 && SPLIT * BM * BN <= ROOM,
              "SPLIT must be from 1 to 262144 / (BM * BN): the sums of a tile must have room");

// What the caller gives.
struct Product {
    const T* A;
    const T* B;
    Out* C;
    int M, N, K;
};

// The number that an element is.
__device__ Sum value(T x) {
#if defined(INPUT_BF16)
    return __uint_as_float((unsigned)x << 16);
#elif defined(INPUT_F16)
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x));
    return y;
#else
    return x;
#endif
}

// The element that a sum is rounded to.
__device__ Out rounded(Sum x) {
#if defined(OUTPUT_BF16)
    unsigned short y;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y) : "f"(x));
    return y;
#elif defined(OUTPUT_F16)
    unsigned short y;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(x));
    return y;
#else
    return x;
#endif
}

// W: elements of the large matrix that a lane reads at a time; X: of the small one's rows.
template <int W, int X>
__device__ void multiply(const Product& p, Slices& slices) {
    // ANCHOR: mapping
    constexpr int LN = TALL ? 1 : WN / W < 32 ? WN / W : 32;  // lanes of a warp along N
    constexpr int LK = 32 / LN;               // and along K
    constexpr int TN = WN / LN;               // columns of C per lane
    constexpr int ALONG = TALL ? W : X;       // elements of a row of A per load
    constexpr int LOADS = WK / (LK * ALONG);  // of each row of A, in a step
    int tid = threadIdx.x;
    int lane = tid % 32;
    int warp = tid / 32;
    int ln = lane % LN;
    int lk = lane / LN;
    int slice = warp % SLICES;
    int wn = warp / SLICES % (BN / WN);
    int wm = warp / SLICES / (BN / WN);
    // Blocks that read the same part of the large matrix follow each other.
    int across = (p.N + BN - 1) / BN;
    int down = (p.M + BM - 1) / BM;
    int beside = TALL ? across : down;
    int large = beside == 1 ? blockIdx.x : blockIdx.x / beside;
    int small = blockIdx.x - large * beside;
    int row0 = (TALL ? large : small) * BM;  // the tile's corner in C
    int col0 = (TALL ? small : large) * BN;
    // This block's part of K, in whole steps. Where the sums of all tiles have no room, one block
    // does a whole tile.
    int parts = across * down <= TILES ? SPLIT : 1;
    int part = blockIdx.y;
    if (part >= parts)
        return;
    long long steps = (p.K + BK - 1) / BK;
    int first = parts == 1 ? 0 : steps * part / SPLIT * BK;
    int end = parts == 1 ? p.K : min(p.K, int(steps * (part + 1) / SPLIT * BK));
    // ANCHOR_END: mapping
    // ANCHOR: mainloop
    // Rows and columns outside C are read from its last ones, and their sums are not stored.
    const T* from_a[WM];
    for (int m = 0; m < WM; ++m)
        from_a[m] = p.A + min(row0 + wm * WM + m, p.M - 1) * p.K;
    constexpr int B_LOADS = TALL ? WN / X : TN / W;
    constexpr int B_EACH = TALL ? X : W;
    int from_b[B_LOADS];
    for (int n = 0; n < B_LOADS; ++n)
        from_b[n] = min(col0 + wn * WN + (n * LN + ln) * B_EACH, p.N - B_EACH);
    Sum acc[WM][TN] = {};
    for (int k0 = first + slice * WK; k0 < end; k0 += BK) {
        Some<ALONG> a[LOADS][WM];
        Some<B_EACH> b[LOADS][ALONG][B_LOADS];
        #pragma unroll
        for (int i = 0; i < LOADS; ++i) {
            int k = k0 + (i * LK + lk) * ALONG;
            bool inside = k < end;
            #pragma unroll
            for (int m = 0; m < WM; ++m)
                a[i][m] = inside ? *(const Some<ALONG>*)&from_a[m][k] : Some<ALONG>{};
            if constexpr (TALL && WN == 1 && W > 1) {  // B is one column, which is contiguous
                *(Some<W>*)b[i] = inside ? *(const Some<W>*)&p.B[k] : Some<W>{};
            } else {
                #pragma unroll
                for (int w = 0; w < ALONG; ++w)
                    #pragma unroll
                    for (int n = 0; n < B_LOADS; ++n)
                        b[i][w][n] = inside ? *(const Some<B_EACH>*)&p.B[(k + w) * p.N + from_b[n]]
                                            : Some<B_EACH>{};
            }
        }
        #pragma unroll
        for (int i = 0; i < LOADS; ++i)
            #pragma unroll
            for (int w = 0; w < ALONG; ++w)
                #pragma unroll
                for (int m = 0; m < WM; ++m)
                    #pragma unroll
                    for (int n = 0; n < TN; ++n)
                        acc[m][n] += value(a[i][m].e[w]) * value(b[i][w][n / B_EACH].e[n % B_EACH]);
    }
    // ANCHOR_END: mainloop
    // ANCHOR: epilogue
    // Lanes with the same columns add up their sums: of two lanes, each gives away half of its
    // sums and gets the other's for the rest. One sum that is left, both add.
    constexpr int COUNT = WM * TN;
    Sum* sums = &acc[0][0];
    int at = 0;  // which of the sums is this lane's first
    #pragma unroll
    for (int left = COUNT, apart = 16; apart >= LN; apart /= 2) {
        bool upper = lane & apart;
        if (left > 1) {
            left /= 2;
            #pragma unroll
            for (int j = 0; j < COUNT / 2; ++j) {
                if (j >= left)
                    continue;
                Sum give = upper ? sums[j] : sums[j + left];
                Sum keep = upper ? sums[j + left] : sums[j];
                sums[j] = keep + __shfl_xor_sync(~0u, give, apart);
            }
            at += upper ? left : 0;
        } else {
            sums[0] += __shfl_xor_sync(~0u, sums[0], apart);
        }
    }
    constexpr int KEPT = COUNT > LK ? COUNT / LK : 1;
    for (int j = 0; j < KEPT; ++j) {
        int m = (at + j) / TN;
        int n = (at + j) % TN;
        int col = TALL || W > 1 ? ln * TN + n : n * LN + ln;
        slices[slice][wm * WM + m][wn * WN + col] = sums[j];
    }
    __syncthreads();  // the sums of all slices are in shared memory
    auto store = [&](int m, int n, Sum sum) {
        if (row0 + m < p.M && col0 + n < p.N)
            p.C[(row0 + m) * p.N + col0 + n] = rounded(sum);
    };
    Parts& tile = partial[parts > 1 ? blockIdx.x : 0];
    for (int i = tid; i < BM * BN; i += THREADS) {
        Sum sum = 0;
        for (int s = 0; s < SLICES; ++s)
            sum += slices[s][i / BN][i % BN];
        if (parts == 1)
            store(i / BN, i % BN, sum);
        else
            tile[part][i / BN][i % BN] = sum;
    }
    if (parts == 1)
        return;
    __threadfence();
    __syncthreads();  // this part's sums are in global memory
    if (!__syncthreads_or(tid == 0 && atomicAdd(&arrived[blockIdx.x], 1) == SPLIT - 1))
        return;  // some arrive later
    __threadfence();
    for (int i = tid; i < BM * BN; i += THREADS) {
        Sum sum = 0;
        #pragma unroll
        for (int s = 0; s < SPLIT; ++s)
            sum += tile[s][i / BN][i % BN];
        store(i / BN, i % BN, sum);
    }
    if (tid == 0)
        arrived[blockIdx.x] = 0;  // for the next launch
    // ANCHOR_END: epilogue
}

// Where K has parts, two blocks fit on an SM: there are more of them.
extern "C" __global__ void __launch_bounds__(THREADS, SPLIT > 1 ? 2 : 0)
gemm_thin(const T* A, const T* B, Out* C, int M, int N, int K) {
    Product p = {A, B, C, M, N, K};
    __shared__ Sum slices[SLICES][BM][BN];
    if constexpr (TALL && WN == 1) {
        if (N == 1 && K % V == 0)
            multiply<V, 1>(p, slices);
        else
            multiply<1, 1>(p, slices);
    } else if constexpr (TALL) {
        constexpr int W = sizeof(T) == 2 ? 2 : 1;
        constexpr int X = WN < V ? WN : V;
        if (N % X == 0 && K % W == 0)
            multiply<W, X>(p, slices);
        else
            multiply<1, 1>(p, slices);
    } else {
        constexpr int MOST = WK * WN / (32 * V);  // elements along K of a lane
        constexpr int X = MOST < V ? MOST : V;
        if (N % V == 0 && K % X == 0)
            multiply<V, X>(p, slices);
        else if (N % V == 0)
            multiply<V, 1>(p, slices);
        else
            multiply<1, 1>(p, slices);
    }
}
