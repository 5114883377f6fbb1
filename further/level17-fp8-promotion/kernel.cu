// Level 17: fp8, with sums promoted to f32.
//
//   C = A * B      A is M x K, B is K x N, stored as N x K, C is M x N; row-major, no padding.
//
// Level 20, for elements of a byte, of which tensor cores multiply twice as many as of 16 bits, but
// wgmma keeps sums of 14 bits. So every 128 of K each thread adds them to sums of its own, and the
// next products begin at 0: meanwhile the other warpgroup multiplies. wgmma transposes no bytes:
// both operands must lie along K, and so does B as it is stored.
//
// Given by LEVEL:  OUTPUT_x           type of C
//                  BM, BN             tile of C per block is BM x BN, 64 rows for each warpgroup
//                                     that multiplies
//                  STAGES             buffers in shared memory
//                  CLUSTER            blocks of a cluster
//                  BLOCKS             blocks of the grid at most: as many as run at a time
//                  map_a, map_b       boxes of BM x 128 of A and of 64 x 128 of the stored B, whose
//                                     rows of 128 bytes lie swizzled in shared memory
//                  map_c              boxes of 64 rows of 128 bytes of C, which lie the same

#include "hopper.cuh"

using T = unsigned char;  // an element of A or B: its bits
#if defined(OUTPUT_F32)
using Out = float;
#else
using Out = unsigned short;
#endif

constexpr int BK = 128;  // one step along K: a row of a box has 128 bytes
constexpr int WIDE = 128 / sizeof(Out);  // columns of a box of C
// Columns of a product: of 256, no thread could hold its sums twice.
constexpr int WIDTH = BN == 256 ? 128 : BN;
struct alignas(1024) Stage {
    T a[BM * BK];  // rows of A
    T b[BN * BK];  // columns of B, which lie as rows
};
struct Shared {
    Stage stages[STAGES];
    Out c[BM / 64][2][64 * WIDE];  // boxes of C on their way, two of each warpgroup
    Barrier full[STAGES];
    Barrier empty[STAGES];
};
constexpr int GROUPS = BM / 64;  // warpgroups that multiply; the last one is the producer
constexpr int THREADS = (GROUPS + 1) * 128;
// Registers of a thread: what all are launched with, what the producer keeps, what the others get.
constexpr int LAUNCHED = 65536 / THREADS / 8 * 8;
constexpr int KEPT = 40;
constexpr int SHARE = (LAUNCHED * (GROUPS + 1) - KEPT) / GROUPS / 8 * 8;
constexpr int GOT = SHARE < 240 ? SHARE : 240;
constexpr int BAND = 16 / CLUSTER;  // rows of tiles that clusters go through together
static_assert(BM % 64 == 0 && BM <= 192,
              "BM must be 64, 128 or 192: 64 rows for each of at most three warpgroups");
static_assert(BN == 64 || BN == 128 || BN == 256,
              "BN must be 64, 128 or 256: so many columns have one or two products");
static_assert(BM < 192 || BN < 256, "BM = 192 leaves too few registers for BN = 256");
static_assert(CLUSTER >= 1 && CLUSTER <= 8 && 16 % CLUSTER == 0,
              "CLUSTER must be 1, 2, 4 or 8: the blocks that every GPU starts together");
static_assert(STAGES >= 2, "STAGES must be at least 2: one is read while the next is filled");
static_assert(sizeof(Shared) <= 227 * 1024, "the stages must fit into 227 KiB of shared memory");

// WIDE columns of C, of which a warp's lanes hold 16 rows, to a box in shared memory.
__device__ void put(Out* box, const float (&c)[BN / 8][4], int first, int warp, int lane) {
#if defined(OUTPUT_F32)
    #pragma unroll
    for (int i = 0; i < 8; ++i) {  // two neighbours of a row
        int row = 16 * warp + i % 2 * 8 + lane / 4;
        const float* pair = c[first + i / 2] + i % 2 * 2;
        *(float2*)((char*)box + swizzled(row, i / 2 * 32 + lane % 4 * 8)) = {pair[0], pair[1]};
    }
#else
    #pragma unroll
    for (int n = 0; n < 8; n += 2) {
        const float (&p)[4] = c[first + n];
        const float (&q)[4] = c[first + n + 1];
        unsigned parts[] = {as_bf16x2(p[0], p[1]), as_bf16x2(p[2], p[3]),
                            as_bf16x2(q[0], q[1]), as_bf16x2(q[2], q[3])};
        int chunk = n + lane / 16;  // of 8 columns, 16 bytes
        store_matrices((char*)box + swizzled(16 * warp + lane % 16, 16 * chunk), parts);
    }
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

extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(THREADS, 1)
gemm_fp8(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,
         const __grid_constant__ TensorMap map_c, int M, int N, int K) {
    extern __shared__ __align__(1024) unsigned char raw[];
    Shared& s = *(Shared*)raw;
    // ANCHOR: mapping
    int tid = threadIdx.x % 128;    // within the warpgroup
    // 64 rows of the tile, or the producer. All lanes ask the first one, so that the compiler knows
    // it for one value of the warp, and so the descriptors: else each warp makes them anew before
    // every product, in level 20 while earlier products run, but here nothing runs then.
    int group = __shfl_sync(0xffffffff, threadIdx.x / 128, 0);
    int rank = blockIdx.x % CLUSTER;
    // The clusters go through C band by band, and down each column in a band; each takes every so
    // many places, of CLUSTER tiles, one below the other.
    int across = (N + BN - 1) / BN;
    int down = (M + BM * CLUSTER - 1) / (BM * CLUSTER);
    int first = blockIdx.x / CLUSTER;
    int stride = gridDim.x / CLUSTER;
    int row0;  // the block's corner in C
    int col0;
    auto go_to = [&](int tile) {
        int band = tile / (BAND * across) * BAND;
        int at = tile % (BAND * across);
        int height = min(BAND, down - band);
        row0 = ((band + at % height) * CLUSTER + rank) * BM;
        col0 = at / height * BN;
    };
    int steps = (K + BK - 1) / BK;
    // ANCHOR_END: mapping
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; ++i) {
            init(s.full[i], 1);
            init(s.empty[i], GROUPS * CLUSTER);
        }
        show_barriers();
    }
    meet_cluster();  // the barriers are ready, in every block of the cluster
    Ring ring;
    // ANCHOR: producer
    // Asks for the tiles of a step, as soon as a stage is empty. At first, each one is.
    auto load = [&](int step) {
        Stage& stage = s.stages[ring.at];
        Barrier& full = s.full[ring.at];
        wait(s.empty[ring.at], ring.parity ^ 1);
        arrive_and_expect(full, sizeof(Stage));
        load_box(stage.a, map_a, row0, step * BK, full);
        for (int n = 64 * rank; n < BN; n += 64 * CLUSTER)  // its boxes of B, for all
            load_box_for_all<CLUSTER>(stage.b + n * BK, map_b, col0 + n, step * BK, full);
    };
    if (group == GROUPS) {
        keep_registers<KEPT>();
        for (int tile = first; tile < across * down && tid == 0; tile += stride) {
            go_to(tile);
            for (int step = 0; step < steps; ++step, ring.next())
                load(step);
        }
        meet_cluster();  // nobody leaves while others may arrive at its barriers
        return;
    }
    // ANCHOR_END: producer
    get_registers<GOT>();
    auto give_back = [&](int at) {  // to every block that fills a part of it
        if (tid < CLUSTER)
            arrive_at(s.empty[at], tid);
    };
    int buffer = 0;
    float acc[BN / 8][4];
    for (int tile = first; tile < across * down; tile += stride) {
        go_to(tile);
        // ANCHOR: mainloop
        #pragma unroll
        for (int i = 0; i < BN / 2; ++i)
            acc[i / 4][i % 4] = 0;
        for (int step = 0; step < steps; ++step, ring.next()) {
            Stage& stage = s.stages[ring.at];
            wait(s.full[ring.at], ring.parity);
            unsigned long long a = descriptor(stage.a + group * 64 * BK, 1024, 16);
            #pragma unroll
            for (int n = 0; n < BN; n += WIDTH) {
                unsigned long long b = descriptor(stage.b + n * BK, 1024, 16);
                float sums[WIDTH / 8][4];  // of a step: wgmma keeps 14 bits, so acc sums the steps
                begin_products();
                #pragma unroll
                for (int k = 0; k < BK / 32; ++k)  // 32 columns, in 32 bytes; the first begins at 0
                    multiply<true>(sums, a + k * 2, b + k * 2, k);
                commit_products();
                await_products<0>();
                if (n + WIDTH == BN)
                    give_back(ring.at);
                #pragma unroll
                for (int i = 0; i < WIDTH / 2; ++i) {
                    asm volatile("" : "+f"(sums[i / 4][i % 4]));  // not before the wait
                    acc[n / 8 + i / 4][i % 4] += sums[i / 4][i % 4];
                }
            }
        }
        // ANCHOR_END: mainloop
        // ANCHOR: epilogue
        #pragma unroll
        for (int n = 0; n < BN; n += WIDE) {
            Out* box = s.c[group][buffer];
            buffer ^= 1;
            if (tid == 0)
                await_stores<1>();  // the copy before the last has read its box
            meet<128>(group + 1);
            put(box, acc, n / 8, tid / 32, tid % 32);
            show_writes();  // the copy sees it
            meet<128>(group + 1);
            if (tid == 0) {
                store_box(box, map_c, row0 + 64 * group, col0 + n);
                commit_stores();
            }
        }
        // ANCHOR_END: epilogue
    }
    if (tid == 0)
        await_stores<0>();
    meet_cluster();
}
