// Level 16: tf32 by warpgroups.
//
//   C = A * B      A is M x K, B is K x N, C is M x N; row-major, no padding.
//
// Level 20, for elements of 32 bits, of which wgmma transposes none: both operands must lie along K
// in shared memory. A does, B does not. So a warpgroup computes the transpose, C' = B' * A': A is
// the operand that wgmma reads in shared memory, and B' comes from registers, where each thread
// puts its elements of it. The blocks of a cluster lie side by side, and share rows of A.
//
// Given by LEVEL:  BM, BN             tile of C per block is BM x BN, 64 columns for each warpgroup
//                                     that multiplies
//                  STAGES             buffers in shared memory
//                  CLUSTER            blocks of a cluster
//                  BLOCKS             blocks of the grid at most: as many as run at a time
//                  map_a              boxes of 64 x 32 of A, whose rows of 128 bytes lie swizzled
//                                     in shared memory
//                  map_b, map_c       boxes of 32 x 32 of B and of C, which lie the same

#include "hopper.cuh"

constexpr int BK = 32;        // one step along K: a row of a box has 128 bytes
constexpr int BOX = 32 * 32;  // elements of a box of B or C
struct alignas(1024) Stage {
    float a[BM * BK];  // rows of A
    float b[BK * BN];  // boxes of 32 columns of B, one after the other
};
struct Shared {
    Stage stages[STAGES];
    float c[BN / 64][2][2][BOX];  // boxes of C on their way, two times two of each warpgroup
    Barrier full[STAGES];
    Barrier empty[STAGES];
};
constexpr int GROUPS = BN / 64;  // warpgroups that multiply; the last one is the producer
constexpr int THREADS = (GROUPS + 1) * 128;
// Registers of a thread: what all are launched with, what the producer keeps, what the others get.
constexpr int LAUNCHED = 65536 / THREADS / 8 * 8;
constexpr int KEPT = 40;
constexpr int SHARE = (LAUNCHED * (GROUPS + 1) - KEPT) / GROUPS / 8 * 8;
constexpr int GOT = SHARE < 240 ? SHARE : 240;
constexpr int BAND = 16 / CLUSTER;  // rows of tiles that clusters go through together
static_assert(BM == 64 || BM == 128 || BM == 256,
              "BM must be 64, 128 or 256: so many rows has a product of a warpgroup");
static_assert(BN % 64 == 0 && BN <= 192,
              "BN must be 64, 128 or 192: 64 columns for each of at most three warpgroups");
static_assert(BN < 192 || BM < 256, "BN = 192 leaves too few registers for BM = 256");
static_assert(CLUSTER >= 1 && CLUSTER <= 8 && 16 % CLUSTER == 0,
              "CLUSTER must be 1, 2, 4 or 8: the blocks that every GPU starts together");
static_assert(STAGES >= 2, "STAGES must be at least 2: one is read while the next is filled");
static_assert(sizeof(Shared) <= 227 * 1024, "the stages must fit into 227 KiB of shared memory");

// An element of a box, whose rows lie swizzled.
__device__ float* place(float* box, int row, int col) {
    return box + swizzled(row, col * sizeof(float)) / sizeof(float);
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
gemm_tf32(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,
          const __grid_constant__ TensorMap map_c, int M, int N, int K) {
    extern __shared__ __align__(1024) unsigned char raw[];
    Shared& s = *(Shared*)raw;
    int tid = threadIdx.x % 128;    // within the warpgroup
    int group = threadIdx.x / 128;  // 64 columns of the tile; or the producer
    int rank = blockIdx.x % CLUSTER;
    // The clusters go through C band by band, and down each column in a band; each takes every so
    // many places, of CLUSTER tiles, side by side.
    int across = (N + BN * CLUSTER - 1) / (BN * CLUSTER);
    int down = (M + BM - 1) / BM;
    int first = blockIdx.x / CLUSTER;
    int stride = gridDim.x / CLUSTER;
    int row0;  // the block's corner in C
    int col0;
    auto go_to = [&](int tile) {
        int band = tile / (BAND * across) * BAND;
        int at = tile % (BAND * across);
        int height = min(BAND, down - band);
        row0 = (band + at % height) * BM;
        col0 = (at / height * CLUSTER + rank) * BN;
    };
    int steps = (K + BK - 1) / BK;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; ++i) {
            init(s.full[i], 1);
            init(s.empty[i], GROUPS * 4 * CLUSTER);  // of each block, all warps that multiply
        }
        show_barriers();
    }
    meet_cluster();  // the barriers are ready, in every block of the cluster
    Ring ring;
    // Asks for the tiles of a step, as soon as a stage is empty. At first, each one is.
    auto load = [&](int step) {
        Stage& stage = s.stages[ring.at];
        Barrier& full = s.full[ring.at];
        wait(s.empty[ring.at], ring.parity ^ 1);
        show_writes();  // what threads have read there, they read before the next copies
        arrive_and_expect(full, sizeof(Stage));
        for (int m = 64 * rank; m < BM; m += 64 * CLUSTER)  // its boxes of A, for all
            load_box_for_all<CLUSTER>(stage.a + m * BK, map_a, row0 + m, step * BK, full);
        for (int n = 0; n < BN; n += 32)
            load_box(stage.b + n * BK, map_b, step * BK, col0 + n, full);
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
    get_registers<GOT>();
    int g = tid % 32 / 4;
    int t = tid % 4;
    // wgmma's rows g and g + 8 of B' are two neighbours of B's columns, in a chunk of 16 bytes.
    // Those of g and g + 2 differ by 4, so that rows t of B use all banks; by 1, for 2 * t of C.
    int box = tid / 64;
    int chunk = g / 4 ^ (g / 2 % 2 * 5) ^ (tid / 32 % 2 * 2);
    int col = chunk * 4 + g % 2 * 2;
    unsigned b[BK / 8][4];  // of B': wgmma transposes no float, but takes B' from registers
    // Reads rows t and t + 4 of each 8 of B.
    auto fetch = [&](float* from, int k) {
        // TODO: a thread's four elements of 8 rows.
    };
    auto give_back = [&](int at) {  // to every block that fills a part of it
        __syncwarp();               // its lanes have read theirs of B
        if (tid % 32 < CLUSTER)
            arrive_at(s.empty[at], tid % 32);
    };
    int buffer = 0;
    float acc[BM / 8][4];
    for (int tile = first; tile < across * down; tile += stride) {
        go_to(tile);
        int before = 0;  // the stage of the step before
        for (int step = 0; step < steps; ++step, ring.next()) {
            Stage& stage = s.stages[ring.at];
            wait(s.full[ring.at], ring.parity);
            float* from = stage.b + (2 * group + box) * BOX;
            unsigned long long a = descriptor(stage.a, 1024, 16);
            // TODO: multiply this stage. When may registers be loaded again? When may the stage
            // before be filled?
            before = ring.at;
        }
        await_products<0>();
        give_back(before);
        #pragma unroll
        for (int m = 0; m < BM; m += 32) {
            float(&boxes)[2][BOX] = s.c[group][buffer];
            buffer ^= 1;
            if (tid == 0)
                await_stores<1>();  // the copies before the last have read their boxes
            meet<128>(group + 1);
            #pragma unroll
            for (int i = 0; i < 8; ++i) {
                const float(&c)[4] = acc[m / 8 + i / 2];
                int row = i / 2 * 8 + 2 * t + i % 2;
                *(float2*)place(boxes[box], row, col) = {c[i % 2], c[2 + i % 2]};
            }
            show_writes();  // the copies see them
            meet<128>(group + 1);
            if (tid == 0) {
                store_box(boxes[0], map_c, row0 + m, col0 + 64 * group);
                store_box(boxes[1], map_c, row0 + m, col0 + 64 * group + 32);
                commit_stores();
            }
        }
    }
    if (tid == 0)
        await_stores<0>();
    meet_cluster();
}
