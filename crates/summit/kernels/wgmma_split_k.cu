// wgmma_split_k: split-K in a cluster.
//
//   C = alpha * A * B + beta * C      A is M x K, B is K x N, or stored as N x K; C is M x N
//
// Level 13, for few tiles and deep sums: the blocks of a cluster share a tile of C, and each
// multiplies its part of K. Then each gets some columns of all sums from the others, into its shared
// memory, and adds them up, always in the same order; nothing of it goes through global memory, and
// no flag is needed. Where C has few rows, a tile has as few: the other rows of a product are zeros,
// written once. Two such blocks fit on an SM, so that one copies while the other one begins or ends.
//
// Given by KERNEL: INPUT_x, OUTPUT_x  types of A and B, and of C
//                  BM, BN             tile of C per cluster is BM x BN, 64 rows for each warpgroup
//                                     that multiplies; or 16 or 32 rows for one
//                  STAGES             buffers in shared memory
//                  PARTS              blocks of a cluster: parts of K
//                  TRANSPOSED         1 if B is stored as N x K
//                  ADDED              1 if beta is not 0
//                  map_a, map_b       boxes of BM x BK of A, and of BK x 64 of B or BN x BK of
//                                     the stored one, whose rows of 128 bytes lie swizzled
//                  mapped             bits 0 and 1: whether map_a and map_b describe A and B

#include "hopper.cuh"

using T = unsigned short;  // an element of A or B: its bits
#if defined(OUTPUT_F32)
using Out = float;
#else
using Out = unsigned short;
#endif

constexpr int BK = 64;  // one step along K: a row of a box has 128 bytes
constexpr int GROUPS = (BM + 63) / 64;  // warpgroups that multiply; the last one is the producer
constexpr bool THIN = BM <= 64 && BN <= 128;  // there is room for two blocks on an SM
constexpr int SHARE = BN / 8 / PARTS;         // of the columns of a tile, 8 each, a block adds up so many
struct alignas(1024) Stage {
    T a[GROUPS * 64 * BK];  // rows of A
    T b[BK * BN];  // boxes of 64 columns of B, one after the other; TRANSPOSED, its columns as rows
};
using Sums = float4[PARTS][SHARE][GROUPS * 128];  // of each block, those of a thread
struct Shared {
    Stage stages[STAGES];
    unsigned char beside[THIN ? sizeof(Sums) : 16];  // the sums, if not where the stages were
    Barrier full[STAGES];
    Barrier empty[STAGES];
};
constexpr int THREADS = (GROUPS + 1) * 128;
// Registers of a thread: what all are launched with, what the producer keeps, what the others get.
constexpr int LAUNCHED = 65536 / THREADS / 8 * 8;
constexpr int KEPT = 56;
constexpr int MOST = (LAUNCHED * (GROUPS + 1) - KEPT) / GROUPS / 8 * 8;
constexpr int GOT = MOST < 240 ? MOST : 240;
constexpr int BAND = 16;  // rows of tiles that blocks go through together
static_assert(BM == 16 || BM == 32 || BM % 64 == 0 && BM <= 192,
              "BM must be 16, 32, 64, 128 or 192: 64 rows for each of at most three warpgroups");
static_assert(BN == 64 || BN == 128 || BN == 256,
              "BN must be 64, 128 or 256: so many columns has a product of a warpgroup");
static_assert(BM < 192 || BN < 256, "BM = 192 leaves too few registers for BN = 256");
static_assert(PARTS >= 1 && PARTS <= 8 && BN / 8 % PARTS == 0,
              "PARTS must be 1, 2, 4 or 8: the blocks of a cluster share the columns of a tile");
static_assert(STAGES >= 2, "STAGES must be at least 2: one is read while the next is filled");
static_assert(sizeof(Shared) <= 227 * 1024, "the stages must fit into 227 KiB of shared memory");
static_assert(THIN || sizeof(Sums) <= sizeof(Stage[STAGES]),
              "the sums must fit where the stages were");

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

// The same for matrices that no map describes, by the producer's threads: 64 columns of some rows.
template <int ROWS>
__device__ void copy_box(T* to, const T* from, int row, int col, int rows, int cols, int ld) {
    int c = threadIdx.x % 64;
    int r = threadIdx.x % 128 / 64;
    from += (row + r) * (long long)ld + col + c;
    #pragma unroll 8
    for (; r < ROWS; r += 2, from += 2LL * ld)
        to[swizzled(r, 2 * c) / 2] = row + r < rows && col + c < cols ? *from : 0;
}

__device__ float number(Out x) {
#if defined(OUTPUT_BF16)
    return __uint_as_float((unsigned)x << 16);
#elif defined(OUTPUT_F16)
    return from_f16(x);
#else
    return x;
#endif
}

// Two neighbours of a row of C, of which `left` are inside the matrix.
__device__ void store(Out* to, float x, float y, int left, bool paired) {
    struct alignas(2 * sizeof(Out)) Pair {
        Out x, y;
    } pair;
#if defined(OUTPUT_BF16)
    *(unsigned*)&pair = as_bf16x2(x, y);
#elif defined(OUTPUT_F16)
    *(unsigned*)&pair = as_f16x2(x, y);
#else
    pair = {x, y};
#endif
    if (paired && left > 1)
        *(Pair*)to = pair;
    if (left > 0 && !(paired && left > 1))
        to[0] = pair.x;
    if (!paired && left > 1)
        to[1] = pair.y;
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

extern "C" __global__ void __cluster_dims__(PARTS, 1, 1) __launch_bounds__(THREADS, THIN ? 2 : 1)
gemm_cluster_split(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,
                   int mapped, const T* A, const T* B, Out* C, int M, int N, int K, int lda,
                   int ldb, int ldc, float alpha, float beta) {
    extern __shared__ __align__(1024) unsigned char raw[];
    Shared& s = *(Shared*)raw;
    // ANCHOR: mapping
    int tid = threadIdx.x % 128;    // within the warpgroup
    int group = threadIdx.x / 128;  // 64 rows of the tile; or the producer
    int part = blockIdx.x % PARTS;
    int tile = blockIdx.x / PARTS;
    // The clusters go through C band by band, and down each column of tiles in a band.
    int across = (N - 1) / BN + 1;
    int down = (M - 1) / BM + 1;
    int band = tile / (BAND * across) * BAND;
    int at = tile % (BAND * across);
    int height = min(BAND, down - band);
    int row0 = (band + at % height) * BM;  // the tile's corner in C
    int col0 = at / height * BN;
    int all = (K + BK - 1) / BK;  // steps, of which this block has an equal share
    int begin = all * part / PARTS;
    int end = all * (part + 1) / PARTS;
    // ANCHOR_END: mapping
    bool by_maps = (mapped & 3) == 3;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; ++i) {
            init(s.full[i], by_maps ? 1 : 128);
            init(s.empty[i], GROUPS);
        }
        show_barriers();
    }
    __syncthreads();  // the barriers are ready; from here on, nobody waits for all
    if (THIN)
        arrive_in_cluster();  // this block has begun
    Ring ring;
    // ANCHOR: producer
    if (group == GROUPS) {
        if (!THIN)
            keep_registers<KEPT>();
        bool idle = by_maps && tid > 0;
        for (int step = begin; step < end && !idle; ++step, ring.next()) {
            Stage& stage = s.stages[ring.at];
            Barrier& full = s.full[ring.at];
            wait(s.empty[ring.at], ring.parity ^ 1);  // at first, each stage is empty
            if (by_maps) {
                arrive_and_expect(full, (BM + BN) * BK * sizeof(T));
                load_box(stage.a, map_a, row0, step * BK, full);
                if (TRANSPOSED)
                    load_box(stage.b, map_b, col0, step * BK, full);
                for (int n = 0; n < BN && !TRANSPOSED; n += 64)
                    load_box(stage.b + n * BK, map_b, step * BK, col0 + n, full);
            } else {
                copy_box<BM>(stage.a, A, row0, step * BK, M, K, lda);
                if (TRANSPOSED)
                    copy_box<BN>(stage.b, B, col0, step * BK, N, K, ldb);
                for (int n = 0; n < BN && !TRANSPOSED; n += 64)
                    copy_box<BK>(stage.b + n * BK, B, step * BK, col0 + n, K, N, ldb);
                show_writes();  // wgmma sees it
                arrive(full);
            }
        }
        if (!THIN)
            arrive_in_cluster();
        await_cluster();
        sync_cluster();
        return;
    }
    // ANCHOR_END: producer
    // ANCHOR: mainloop
    if (!THIN)
        get_registers<GOT>();
    if (BM < 64) {
        for (Stage& stage : s.stages)
            for (int i = BM * BK / 8 + tid; i < 64 * BK / 8; i += 128)
                ((float4*)stage.a)[i] = {};
        show_writes();   // wgmma sees it
        meet<128>(1);  // all rows that no copy brings are zeros
    }
    float acc[BN / 8][4] = {};
    int before = 0;  // the stage of the step before
    for (int step = begin; step < end; ++step, ring.next()) {
        Stage& stage = s.stages[ring.at];
        wait(s.full[ring.at], ring.parity);
        unsigned long long a = descriptor(stage.a + group * 64 * BK, 1024, 16);
        unsigned long long b = descriptor(stage.b, 1024, TRANSPOSED ? 16 : 64 * BK * sizeof(T));
        begin_products();
        #pragma unroll
        for (int k = 0; k < BK / 16; ++k)  // 16 columns of A, or 16 rows of B, in units of 16 bytes
            multiply<TRANSPOSED>(acc, a + k * 2, b + k * (TRANSPOSED ? 2 : 128), 1);
        commit_products();
        // All products but those have been made: this warpgroup is done with the stage before.
        await_products<1>();
        if (step > begin && tid == 0)
            arrive(s.empty[before]);
        before = ring.at;
    }
    await_products<0>();
    // ANCHOR_END: mainloop
    // ANCHOR: epilogue
    if (!THIN)
        arrive_in_cluster();  // no copy is under way here, and no product: the stages' room is free
    await_cluster();          // in no block
    Sums& sums = *(Sums*)(THIN ? s.beside : (unsigned char*)s.stages);
    int thread = threadIdx.x;
    int top = 64 * group + 16 * (tid / 32);
    bool inside = top < BM && row0 + top < M;  // the warp has rows of the tile, and of C
    #pragma unroll
    for (int n = 0; n < BN / 8 && inside; ++n)
        write_to(sums[part][n % SHARE][thread], n / SHARE,
                 {acc[n][0], acc[n][1], acc[n][2], acc[n][3]});
    sync_cluster();  // everyone's sums are here; nobody writes to another block behind it
    long long pitch = ldc;
    bool paired = ldc % 2 == 0 && (unsigned long long)C % (2 * sizeof(Out)) == 0;
    #pragma unroll 4
    for (int i = 0; i < SHARE && inside; ++i) {
        float4 sum = sums[0][i][thread];
        #pragma unroll
        for (int from = 1; from < PARTS; ++from) {
            float4 more = sums[from][i][thread];
            sum = {sum.x + more.x, sum.y + more.y, sum.z + more.z, sum.w + more.w};
        }
        int row = row0 + top + tid % 32 / 4;
        int col = col0 + 8 * (part * SHARE + i) + tid % 4 * 2;
        float x[4] = {alpha * sum.x, alpha * sum.y, alpha * sum.z, alpha * sum.w};
        #pragma unroll
        for (int e = 0; e < 4 && ADDED; ++e)
            if (row + e / 2 * 8 < M && col + e % 2 < N)
                x[e] += beta * number(C[(row + e / 2 * 8) * pitch + col + e % 2]);
        if (row < M)
            store(&C[row * pitch + col], x[0], x[1], N - col, paired);
        if (row + 8 < M)
            store(&C[(row + 8) * pitch + col], x[2], x[3], N - col, paired);
    }
    // ANCHOR_END: epilogue
}
