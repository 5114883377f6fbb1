// Level 22: int8, exact in s32.
//
//   C = A * B      A is M x K, B is K x N, stored as N x K, C is M x N; row-major, no padding.
//
// Level 19, for whole numbers of a byte. Their products have 15 bits, and s32 has room for sums of
// 131,071 of them: nothing is rounded, and no sum is promoted. wgmma transposes no bytes: both
// operands must lie along K, and so does B as it is stored. A tile has twice as many bytes as one
// of level 19, and its products take half the time: all the more should somebody multiply while it
// leaves. Where a warpgroup cannot hold the sums of a tile, both have half of it, and nobody does:
// but each product has fewer bytes to fetch.
//
// Given by LEVEL:  BM, BN             tile of C per block is BM x BN: a warpgroup has every second
//                                     one, or half of each
//                  STAGES             buffers in shared memory
//                  CLUSTER            blocks of a cluster
//                  BLOCKS             blocks of the grid at most: as many as run at a time
//                  map_a, map_b       boxes of BM x 128 of A and of 64 x 128 of the stored B, whose
//                                     rows of 128 bytes lie swizzled in shared memory
//                  map_c              boxes of 16 x 32 of C, which lie the same

#include "hopper.cuh"

using T = signed char;  // an element of A or B; one of C is an int

constexpr int BK = 128;    // one step along K: a row of a box has 128 bytes
constexpr int WIDE = 32;   // columns of a box of C
constexpr int GROUPS = 2;  // warpgroups that multiply; the last one is the producer
// In turns, each has every second tile. Else both have half of each.
constexpr int TURNS = BM * BN <= 192 * 128 ? 2 : 1;
constexpr int HIGH = BM / 64 * TURNS / GROUPS;  // its products of 64 rows, one below the other
struct alignas(1024) Stage {
    T a[BM * BK];  // rows of A
    T b[BN * BK];  // columns of B, which lie as rows
};
struct Shared {
    Stage stages[STAGES];
    int c[GROUPS][4][2][16 * WIDE];  // boxes of C on their way, two of each warp
    Barrier full[STAGES];
    Barrier empty[STAGES];
};
constexpr int THREADS = (GROUPS + 1) * 128;
// Registers of a thread: what all are launched with, what the producer keeps, what the others get.
constexpr int LAUNCHED = 65536 / THREADS / 8 * 8;
constexpr int KEPT = 40;
constexpr int SHARE = (LAUNCHED * (GROUPS + 1) - KEPT) / GROUPS / 8 * 8;
constexpr int GOT = SHARE < 240 ? SHARE : 240;
constexpr int BAND = 16 / CLUSTER;  // rows of tiles that clusters go through together
static_assert(BM % 64 == 0, "BM must be a multiple of 64: so many rows has a product");
static_assert(TURNS == 2 || BM % 128 == 0, "BM must be a multiple of 128 for two halves of a tile");
static_assert(BN == 64 || BN == 128 || BN == 192 || BN == 256,
              "BN must be 64, 128, 192 or 256: so many columns has a product of a warpgroup");
static_assert(HIGH * BN <= 3 * 128, "BM * BN must be at most 49152: a thread holds 192 sums");
static_assert(CLUSTER >= 1 && CLUSTER <= 8 && 16 % CLUSTER == 0,
              "CLUSTER must be 1, 2, 4 or 8: the blocks that every GPU starts together");
static_assert(STAGES >= 2, "STAGES must be at least 2: one is read while the next is filled");
static_assert(sizeof(Shared) <= 227 * 1024, "the stages must fit into 227 KiB of shared memory");

// 16 rows and WIDE columns of C, which a warp's lanes hold, to a box in shared memory. Odd rows are
// two times 8 columns ahead of even ones, or behind: so no two of four use the same banks.
__device__ void put(int* box, const int (&c)[BN / 8][4], int first, int lane) {
    bool odd = lane / 4 % 2;
    #pragma unroll
    for (int i = 0; i < 8; ++i) {  // two neighbours of a row
        const int* own = c[first + i / 2] + i % 2 * 2;
        const int* ahead = c[first + (i / 2 ^ 2)] + i % 2 * 2;
        int at = swizzled(i % 2 * 8 + lane / 4, (i / 2 ^ 2 * odd) * 32 + lane % 4 * 8);
        *(int2*)((char*)box + at) = {odd ? ahead[0] : own[0], odd ? ahead[1] : own[1]};
    }
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

    __device__ void skip(int stages) {
        at += stages;
        parity ^= at / STAGES % 2;
        at %= STAGES;
    }
};

extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(THREADS, 1)
gemm_int8(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,
          const __grid_constant__ TensorMap map_c, int M, int N, int K) {
    extern __shared__ __align__(1024) unsigned char raw[];
    Shared& s = *(Shared*)raw;
    // ANCHOR: mapping
    int tid = threadIdx.x % 128;    // within the warpgroup
    // Every second tile of the block, or half of each; or the producer. All ask lane 0, so that the
    // compiler knows it for one value of the warp, and all that follows from it.
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
            init(s.empty[i], CLUSTER * GROUPS / TURNS);  // the warpgroups whose tile it is
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
    int lane = tid % 32;
    int buffer = 0;
    int acc[HIGH][BN / 8][4];
    int turn = TURNS > 1 ? group : 0;
    int own = TURNS > 1 ? 0 : group * HIGH * 64;  // the first row of its half of a tile
    ring.skip(turn * steps);
    // In turns, each tile's stages are the other warpgroup's every second time.
    for (int tile = first + turn * stride; tile < across * down;
         tile += TURNS * stride, ring.skip((TURNS - 1) * steps)) {
        go_to(tile);
        // ANCHOR: mainloop
        if (TURNS > 1 && tile != first)
            meet<256>(1 + group);  // it is the turn of this warpgroup
        int before = 0;  // the stage of the step before
        for (int step = 0; step < steps; ++step, ring.next()) {
            Stage& stage = s.stages[ring.at];
            wait(s.full[ring.at], ring.parity);
            unsigned long long a = descriptor(stage.a + own * BK, 1024, 16);
            unsigned long long b = descriptor(stage.b, 1024, 16);
            begin_products();
            #pragma unroll
            for (int h = 0; h < HIGH; ++h)  // 64 rows of A are 512 times 16 bytes
                #pragma unroll
                for (int k = 0; k < BK / 32; ++k)  // 32 of K are twice 16 bytes
                    multiply<true>(acc[h], a + h * 512 + k * 2, b + k * 2, step + k);
            commit_products();
            await_products<1>();  // but those: this warpgroup is done with the stage before
            if (step > 0)
                give_back(before);
            before = ring.at;
        }
        if (TURNS > 1 && tile + stride < across * down)
            pass<256>(1 + (group ^ 1));  // what it multiplies follows the last products of these
        await_products<0>();
        give_back(before);
        // ANCHOR_END: mainloop
        // ANCHOR: epilogue
        #pragma unroll
        for (int i = 0; i < HIGH * BN; i += WIDE) {  // boxes of each product, one after the other
            int* box = s.c[group][tid / 32][buffer];
            buffer ^= 1;
            if (lane == 0)
                await_stores<1>();  // the copy before the last has read its box
            __syncwarp();
            put(box, acc[i / BN], i % BN / 8, lane);
            show_writes();  // the copy sees it
            __syncwarp();
            if (lane == 0) {
                int row = row0 + own + i / BN * 64 + tid / 32 * 16;
                store_box(box, map_c, row, col0 + i % BN);
                commit_stores();
            }
        }
        // ANCHOR_END: epilogue
    }
    if (lane == 0)
        await_stores<0>();
    meet_cluster();
}
