// Level 14: clusters.
//
//   C = A * B      A is M x K, B is K x N, C is M x N; row-major, no padding.
//
// Level 13, but blocks come in clusters of neighbours in a column of tiles. They need the same part
// of B: each fetches some boxes of it, once, for all. So a stage is full when the boxes of all have
// come, and empty when the warpgroups of all have read it.
//
// Given by LEVEL:  INPUT_x, OUTPUT_x  types of A and B, and of C
//                  BM, BN             tile of C per block is BM x BN, 64 rows for each warpgroup
//                                     that multiplies
//                  STAGES             buffers in shared memory
//                  CLUSTER            blocks of a cluster
//                  map_a, map_b       boxes of BM x BK of A and of BK x 64 of B, whose rows of 128
//                                     bytes lie swizzled in shared memory

#include "hopper.cuh"

using T = unsigned short;  // an element of A, B or C: its bits

constexpr int BK = 64;  // one step along K: a row of a box has 128 bytes
struct alignas(1024) Stage {
    T a[BM * BK];  // rows of A
    T b[BK * BN];  // boxes of 64 columns of B, one after the other
};
struct Shared {
    Stage stages[STAGES];
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
              "BN must be 64, 128 or 256: so many columns has a product of a warpgroup");
static_assert(BM < 192 || BN < 256, "BM = 192 leaves too few registers for BN = 256");
static_assert(CLUSTER >= 1 && CLUSTER <= 8 && 16 % CLUSTER == 0,
              "CLUSTER must be 1, 2, 4 or 8: the blocks that every GPU starts together");
static_assert(STAGES >= 2, "STAGES must be at least 2: one is read while the next is filled");
static_assert(sizeof(Shared) <= 227 * 1024, "the stages must fit into 227 KiB of shared memory");

// Two neighbours of a row of C, of which `left` are inside the matrix.
__device__ void store(T* to, float x, float y, int left, bool paired) {
#if defined(OUTPUT_BF16)
    unsigned pair = as_bf16x2(x, y);
#else
    unsigned pair = as_f16x2(x, y);
#endif
    if (paired && left > 0)
        *(unsigned*)to = pair;
    if (!paired && left > 0)
        to[0] = pair;
    if (!paired && left > 1)
        to[1] = pair >> 16;
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
gemm_clusters(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,
              T* C, int M, int N, int K) {
    extern __shared__ __align__(1024) unsigned char raw[];
    Shared& s = *(Shared*)raw;
    // ANCHOR: mapping
    int tid = threadIdx.x % 128;    // within the warpgroup
    int group = threadIdx.x / 128;  // 64 rows of the tile; or the producer
    int rank = blockIdx.x % CLUSTER;
    int tile = blockIdx.x / CLUSTER;  // of the cluster: CLUSTER tiles, one below the other
    // The clusters go through C band by band, and down each column in a band.
    int across = (N + BN - 1) / BN;
    int down = (M + BM * CLUSTER - 1) / (BM * CLUSTER);
    int band = tile / (BAND * across) * BAND;
    int at = tile % (BAND * across);
    int height = min(BAND, down - band);
    int row0 = ((band + at % height) * CLUSTER + rank) * BM;  // the block's corner in C
    int col0 = at / height * BN;
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
            load_box_for_all<CLUSTER>(stage.b + n * BK, map_b, step * BK, col0 + n, full);
    };
    if (group == GROUPS) {
        keep_registers<KEPT>();
        for (int step = 0; step < steps && tid == 0; ++step, ring.next())
            load(step);
        meet_cluster();  // nobody leaves while others may arrive at its barriers
        return;
    }
    // ANCHOR_END: producer
    // ANCHOR: mainloop
    get_registers<GOT>();
    float acc[BN / 8][4];
    int before = 0;  // the stage of the step before
    for (int step = 0; step < steps; ++step, ring.next()) {
        Stage& stage = s.stages[ring.at];
        wait(s.full[ring.at], ring.parity);
        unsigned long long a = descriptor(stage.a + group * 64 * BK, 1024, 16);
        unsigned long long b = descriptor(stage.b, 1024, 64 * BK * sizeof(T));
        begin_products();
        #pragma unroll
        for (int k = 0; k < BK / 16; ++k)  // 16 columns of A, or 16 rows of B, in units of 16 bytes
            multiply<false>(acc, a + k * 2, b + k * 128, step + k);
        commit_products();
        await_products<1>();  // but those: this warpgroup is done with the stage before
        if (step > 0 && tid < CLUSTER)  // and says so to all who fill a part of it
            arrive_at(s.empty[before], tid);
        before = ring.at;
    }
    await_products<0>();
    // ANCHOR_END: mainloop
    // ANCHOR: epilogue
    #pragma unroll
    for (int n = 0; n < BN / 8; ++n)
        #pragma unroll
        for (int half = 0; half < 2; ++half) {
            int row = row0 + 64 * group + 16 * (tid / 32) + 8 * half + tid % 32 / 4;
            int col = col0 + 8 * n + tid % 4 * 2;  // lane 4 * g + t: 2 * t and 2 * t + 1 of row g
            if (row < M)
                store(&C[row * N + col], acc[n][2 * half], acc[n][2 * half + 1], N - col,
                      N % 2 == 0);
        }
    // ANCHOR_END: epilogue
    meet_cluster();
}
