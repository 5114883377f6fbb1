// wgmma_thin: few rows.
//
//   C = alpha * A * B + beta * C      A is M x K, B is K x N, or stored as N x K; C is M x N
//
// Where C has few rows, each element of B is needed once, and its way from memory is all that takes
// time. A product of a warpgroup has 64 rows. Here these are columns of B, and the few rows of A are
// its columns, of which it may have as few as 8: what is multiplied is transposed, C' = B' * A', and
// of what stages hold next to nothing is zeros. So a block has many bytes of B on their way, and
// several blocks share an SM. Where there are few tiles, the blocks of a cluster share out K, and
// each adds up some rows of all sums, as in wgmma_split_k. Of fp8 each step's sums are promoted, as in
// wgmma_fp8; it must lie along K, so that threads fetch a B that is stored as K x N.
//
// Given by KERNEL: INPUT_x, OUTPUT_x  types of A and B, and of C
//                  BM                 rows of C of a cluster: 8, 16, 32, 64 or 128; it has 64 columns
//                  STAGES             buffers in shared memory
//                  PARTS              blocks of a cluster: parts of K
//                  TRANSPOSED         1 if B is stored as N x K
//                  ADDED              1 if beta is not 0
//                  map_a, map_b       boxes of BM x BK of A, and of 64 rows of B as it is stored,
//                                     whose rows of 128 bytes lie swizzled
//                  mapped             bits 0 and 1: whether map_a and map_b describe A and B

#include "hopper.cuh"

#if defined(INPUT_E4M3)
using T = unsigned char;  // an element of A or B: its bits
#else
using T = unsigned short;
#endif
using Out = unsigned short;

constexpr bool BYTES = sizeof(T) == 1;
constexpr int BN = 64;
constexpr int BK = 128 / sizeof(T);  // one step along K: a row of a box has 128 bytes
constexpr bool ALONG = TRANSPOSED || BYTES;  // a stage's rows are columns of B
constexpr int SHARE = 4 / PARTS;  // of the warps that multiply, a block adds up those of so many
struct alignas(1024) Stage {
    T b[BN * BK];  // columns of B as rows; or, not ALONG, as columns
    T a[BM * BK];  // rows of A
};
using Sums = float4[PARTS][SHARE][BM / 8][32];  // of each block, those of each lane
struct Shared {
    Stage stages[STAGES];
    unsigned char sums[PARTS > 1 ? sizeof(Sums) : 16];
    Barrier full[STAGES];
    Barrier empty[STAGES];
};
constexpr int THREADS = 128 + 32;  // a warpgroup multiplies, a warp is the producer
static_assert(BM == 8 || BM == 16 || BM == 32 || BM == 64 || BM == 128,
              "BM must be 8, 16, 32, 64 or 128: so many columns has a product of a warpgroup");
static_assert(PARTS == 1 || PARTS == 2 || PARTS == 4,
              "PARTS must be 1, 2 or 4: the blocks of a cluster share the rows of four warps");
static_assert(STAGES >= 2, "STAGES must be at least 2: one is read while the next is filled");
static_assert(sizeof(Shared) <= 227 * 1024, "the stages must fit into 227 KiB of shared memory");

// This block's threads are here, and what they have written is seen by who waits for all of the
// cluster.
__device__ void arrive_in_cluster() {
    asm volatile("barrier.cluster.arrive;" ::: "memory");
}

__device__ void await_cluster() {
    asm volatile("barrier.cluster.wait;" ::: "memory");
}

// To the same place of another block's shared memory.
__device__ void write_to(const float4& there, int rank, float4 x) {
    asm volatile("{\n"
                 ".reg .b32 there;\n"
                 "mapa.shared::cluster.u32 there, %0, %1;\n"
                 "st.shared::cluster.v4.f32 [there], {%2, %3, %4, %5};\n"
                 "}" ::"r"(shared(&there)), "r"(rank), "f"(x.x), "f"(x.y), "f"(x.z), "f"(x.w)
                 : "memory");
}

// Begins c += b * a, or c = b * a: 64 columns of B, which lie either way, and BM rows of A.
__device__ void multiply_thin(float (&c)[BM / 8][4], unsigned long long b, unsigned long long a,
                              int add) {
#if TRANSPOSED || defined(INPUT_E4M3)
#define LAYOUTS WGMMA_ALONG_K ";\n}"
#else
#define LAYOUTS ", 1, 0;\n}"
#endif
#if BM == 8
    asm volatile(WGMMA_ADD(6) "wgmma.mma_async.sync.aligned.m64n8" WGMMA_TYPES
                 "{%0, %1, %2, %3}, %4, %5, add" WGMMA_SIGNS LAYOUTS
                 : WGMMA_S4(0) : "l"(b), "l"(a), "r"(add));
#elif BM == 16
    asm volatile(WGMMA_ADD(10) "wgmma.mma_async.sync.aligned.m64n16" WGMMA_TYPES
                 "{" WGMMA_R8(0, 1, 2, 3, 4, 5, 6, 7) "}, %8, %9, add" WGMMA_SIGNS LAYOUTS
                 : WGMMA_S4(0), WGMMA_S4(1) : "l"(b), "l"(a), "r"(add));
#elif BM == 32
    asm volatile(WGMMA_ADD(18) "wgmma.mma_async.sync.aligned.m64n32" WGMMA_TYPES
                 "{" WGMMA_R8(0, 1, 2, 3, 4, 5, 6, 7) ", "
                 WGMMA_R8(8, 9, 10, 11, 12, 13, 14, 15) "}, %16, %17, add" WGMMA_SIGNS LAYOUTS
                 : WGMMA_S4(0), WGMMA_S4(1), WGMMA_S4(2), WGMMA_S4(3)
                 : "l"(b), "l"(a), "r"(add));
#elif BM == 64
    asm volatile(WGMMA_ADD(34) "wgmma.mma_async.sync.aligned.m64n64" WGMMA_TYPES
                 "{" WGMMA_R32 "}, %32, %33, add" WGMMA_SIGNS LAYOUTS
                 : WGMMA_S32(0) : "l"(b), "l"(a), "r"(add));
#else
    asm volatile(WGMMA_ADD(66) "wgmma.mma_async.sync.aligned.m64n128" WGMMA_TYPES
                 "{" WGMMA_R64 "}, %64, %65, add" WGMMA_SIGNS LAYOUTS
                 : WGMMA_S32(0), WGMMA_S32(8) : "l"(b), "l"(a), "r"(add));
#endif
}

// The same for matrices that no map describes, by the producer's lanes: 128 bytes of some rows; or,
// ACROSS, of columns as rows.
template <int ROWS, bool ACROSS>
__device__ void copy_box(T* to, const T* from, int row, int col, int rows, int cols, int ld) {
    long long pitch = ld;
    #pragma unroll 4
    for (int i = threadIdx.x % 32; i < ROWS * BK; i += 32) {
        int r = ACROSS ? i % ROWS : i / BK;
        int c = ACROSS ? i / ROWS : i % BK;
        bool inside = row + r < rows && col + c < cols;
        long long at = ACROSS ? (col + c) * pitch + row + r : (row + r) * pitch + col + c;
        to[swizzled(r, c * (int)sizeof(T)) / sizeof(T)] = inside ? from[at] : 0;
    }
}

__device__ float number(Out x) {
#if defined(OUTPUT_BF16)
    return __uint_as_float((unsigned)x << 16);
#else
    return from_f16(x);
#endif
}

__device__ Out rounded(float x) {
#if defined(OUTPUT_BF16)
    return as_bf16x2(x, 0);
#else
    return as_f16x2(x, 0);
#endif
}

// A place in the ring of stages, and the parity of the phase in which it is filled this time.
struct Ring {
    int at = 0;
    int parity = 0;

    __device__ void next() {
        if (++at == STAGES) {
            at = 0;
            parity ^= 1;
        }
    }
};

extern "C" __global__ void __cluster_dims__(PARTS, 1, 1) __launch_bounds__(THREADS)
gemm_thin_rows(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,
               int mapped, const T* A, const T* B, Out* C, int M, int N, int K, int lda, int ldb,
               int ldc, float alpha, float beta) {
    extern __shared__ __align__(1024) unsigned char raw[];
    Shared& s = *(Shared*)raw;
    // ANCHOR: mapping
    int lane = threadIdx.x % 32;
    int warp = threadIdx.x / 32;
    int part = blockIdx.x % PARTS;
    int tile = blockIdx.x / PARTS;
    // Clusters with the same columns follow each other: B is read from memory once.
    int down = (M - 1) / BM + 1;
    int row0 = tile % down * BM;  // the tile's corner in C
    int col0 = tile / down * BN;
    int all = (K + BK - 1) / BK;  // steps, of which this block has an equal share
    int begin = all * part / PARTS;
    int end = all * (part + 1) / PARTS;
    // ANCHOR_END: mapping
    bool by_maps = (mapped & 3) == 3 && (TRANSPOSED || !BYTES);
    Ring ring;
    auto fetch = [&](int step) {
        Stage& stage = s.stages[ring.at];
        Barrier& full = s.full[ring.at];
        int k = step * BK;
        arrive_and_expect(full, sizeof(Stage));
        load_box(stage.b, map_b, TRANSPOSED ? col0 : k, TRANSPOSED ? k : col0, full);
        load_box(stage.a, map_a, row0, k, full);
        ring.next();
    };
    int step = begin;
    if (threadIdx.x == 128) {  // of the producer
        for (int i = 0; i < STAGES; ++i) {
            init(s.full[i], by_maps ? 1 : 32);
            init(s.empty[i], 1);
        }
        show_barriers();
        // At first each stage is empty: copies are under way before anyone waits.
        for (; by_maps && step < end && step < begin + STAGES; ++step)
            fetch(step);
    }
    __syncthreads();  // the barriers are ready; from here on, nobody waits for all
    if (PARTS > 1)
        arrive_in_cluster();  // this block has begun
    // ANCHOR: producer
    if (warp == 4) {
        for (; by_maps && lane == 0 && step < end; ++step) {
            wait(s.empty[ring.at], ring.parity ^ 1);
            fetch(step);
        }
        for (; !by_maps && step < end; ++step, ring.next()) {
            Stage& stage = s.stages[ring.at];
            wait(s.empty[ring.at], ring.parity ^ 1);
            if (ALONG)
                copy_box<BN, !TRANSPOSED>(stage.b, B, col0, step * BK, N, K, ldb);
            else
                copy_box<BK, false>(stage.b, B, step * BK, col0, K, N, ldb);
            copy_box<BM, false>(stage.a, A, row0, step * BK, M, K, lda);
            show_writes();  // wgmma sees it
            arrive(s.full[ring.at]);
        }
        if (PARTS > 1) {
            await_cluster();
            sync_cluster();
        }
        return;
    }
    // ANCHOR_END: producer
    // ANCHOR: mainloop
    float acc[BM / 8][4] = {};
    float sums_of_step[BM / 8][4];  // of fp8, which are promoted
    int before = 0;  // the stage of the step before
    for (; step < end; ++step, ring.next()) {
        Stage& stage = s.stages[ring.at];
        wait(s.full[ring.at], ring.parity);
        unsigned long long b = descriptor(stage.b, 1024, 16);
        unsigned long long a = descriptor(stage.a, 1024, 16);
        begin_products();
        #pragma unroll
        for (int k = 0; k < 4; ++k)  // 32 bytes of a row of A, or 16 rows of B, in units of 16 bytes
            multiply_thin(BYTES ? sums_of_step : acc, b + k * (ALONG ? 2 : 128), a + k * 2,
                          !BYTES || k > 0);
        commit_products();
        if (BYTES) {
            await_products<0>();
            #pragma unroll
            for (int i = 0; i < BM / 8 * 4; ++i)
                acc[i / 4][i % 4] += sums_of_step[i / 4][i % 4];
        }
        // All products but those have been made: this warpgroup is done with the stage before.
        await_products<1>();
        if (step > begin && threadIdx.x == 0)
            arrive(s.empty[before]);
        before = ring.at;
    }
    await_products<0>();
    // ANCHOR_END: mainloop
    // ANCHOR: epilogue
    // Eight rows of C in 16 columns, of which a lane has two rows and two columns.
    auto store = [&](float4 sum, int rows, int columns) {
        int row = row0 + 8 * rows + lane % 4 * 2;
        int col = col0 + 16 * columns + lane / 4;
        float x[4] = {sum.x, sum.y, sum.z, sum.w};
        #pragma unroll
        for (int e = 0; e < 4; ++e) {
            int r = row + e % 2;
            int c = col + e / 2 * 8;
            if (r >= M || c >= N)
                continue;
            Out& to = C[r * (long long)ldc + c];
            to = rounded(alpha * x[e] + (ADDED ? beta * number(to) : 0));
        }
    };
    if (PARTS == 1) {
        #pragma unroll
        for (int i = 0; i < BM / 8; ++i)
            store({acc[i][0], acc[i][1], acc[i][2], acc[i][3]}, i, warp);
        return;
    }
    Sums& sums = *(Sums*)s.sums;
    await_cluster();  // every block has begun
    #pragma unroll
    for (int i = 0; i < BM / 8; ++i)
        write_to(sums[part][warp % SHARE][i][lane], warp / SHARE,
                 {acc[i][0], acc[i][1], acc[i][2], acc[i][3]});
    sync_cluster();  // everyone's sums are here; nobody writes to another block behind it
    for (int at = warp; at < SHARE * BM / 8; at += 4) {
        int w = at / (BM / 8);
        int i = at % (BM / 8);
        float4 sum = sums[0][w][i][lane];
        #pragma unroll
        for (int from = 1; from < PARTS; ++from) {
            float4 more = sums[from][w][i][lane];
            sum = {sum.x + more.x, sum.y + more.y, sum.z + more.z, sum.w + more.w};
        }
        store(sum, i, part * SHARE + w);
    }
    // ANCHOR_END: epilogue
}
