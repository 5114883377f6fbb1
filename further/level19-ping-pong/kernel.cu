// Level 19: two warpgroups multiply in turns.
//
//   C = A * B      A is M x K, B is K x N, C is M x N; row-major, no padding.
//
// Level 20, but a tile has one warpgroup, which makes all its products; the next tile has the other
// one. They take turns at the tensor cores: while one multiplies, the other one's tile leaves, so
// the tensor cores never wait for an epilogue but the last. Without turns, both would share the
// tensor cores, be done at about the same time, and store at the same time.
//
// Given by LEVEL:  INPUT_x, OUTPUT_x  types of A and B, and of C
//                  BM, BN             tile of C per block, and of a warpgroup, is BM x BN
//                  STAGES             buffers in shared memory
//                  CLUSTER            blocks of a cluster
//                  BLOCKS             blocks of the grid at most: as many as run at a time
//                  map_a, map_b       boxes of BM x BK of A and of BK x 64 of B, whose rows of 128
//                                     bytes lie swizzled in shared memory
//                  map_c              boxes of 16 x 64 of C, which lie the same

#include "hopper.cuh"

using T = unsigned short;  // an element of A, B or C: its bits

constexpr int BK = 64;  // one step along K: a row of a box has 128 bytes
constexpr int HIGH = BM / 64;  // products of 64 rows, one below the other
constexpr int GROUPS = 2;      // warpgroups that multiply; the last one is the producer
struct alignas(1024) Stage {
    T a[BM * BK];  // rows of A
    T b[BK * BN];  // boxes of 64 columns of B, one after the other
};
struct Shared {
    Stage stages[STAGES];
    T c[GROUPS][4][2][16 * 64];  // boxes of C on their way, two of each warp
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
static_assert(BN == 64 || BN == 128 || BN == 192 || BN == 256,
              "BN must be 64, 128, 192 or 256: so many columns has a product of a warpgroup");
static_assert(BM * BN <= 192 * 128, "BM * BN must be at most 24576: a thread holds 192 sums");
static_assert(CLUSTER >= 1 && CLUSTER <= 8 && 16 % CLUSTER == 0,
              "CLUSTER must be 1, 2, 4 or 8: the blocks that every GPU starts together");
static_assert(STAGES >= 2, "STAGES must be at least 2: one is read while the next is filled");
static_assert(sizeof(Shared) <= 227 * 1024, "the stages must fit into 227 KiB of shared memory");

// Two neighbours of a row of C.
__device__ unsigned pair(float x, float y) {
#if defined(OUTPUT_BF16)
    return as_bf16x2(x, y);
#else
    return as_f16x2(x, y);
#endif
}

// 16 rows and 64 columns of C, which a warp's lanes hold, to a box in shared memory.
__device__ void put(T* box, const float (&c)[BN / 8][4], int first, int lane) {
    #pragma unroll
    for (int n = 0; n < 8; n += 2) {
        const float (&p)[4] = c[first + n];
        const float (&q)[4] = c[first + n + 1];
        unsigned parts[] = {pair(p[0], p[1]), pair(p[2], p[3]), pair(q[0], q[1]), pair(q[2], q[3])};
        int chunk = n + lane / 16;  // of 8 columns, 16 bytes
        store_matrices((char*)box + swizzled(lane % 16, 16 * chunk), parts);
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
gemm_turns(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,
           const __grid_constant__ TensorMap map_c, int M, int N, int K) {
    extern __shared__ __align__(1024) unsigned char raw[];
    Shared& s = *(Shared*)raw;
    // ANCHOR: mapping
    int tid = threadIdx.x % 128;    // within the warpgroup
    // Every second tile of the block, or the producer. All lanes ask the first one, so that the
    // compiler knows it for one value of the warp, and all that follows from it: between a step's
    // products and the next nobody else multiplies, so little may stand there.
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
            init(s.empty[i], CLUSTER);  // of each block, the warpgroup whose tile it is
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
    float acc[HIGH][BN / 8][4];
    ring.skip(group * steps);
    // Each tile's stages are the other warpgroup's every second time.
    for (int tile = first + group * stride; tile < across * down;
         tile += 2 * stride, ring.skip(steps)) {
        go_to(tile);
        // ANCHOR: mainloop
        if (tile != first)
            meet<256>(1 + group);  // its turn: else an old phase of a stage could pass for its own
        int before = 0;  // the stage of the step before
        for (int step = 0; step < steps; ++step, ring.next()) {
            Stage& stage = s.stages[ring.at];
            wait(s.full[ring.at], ring.parity);
            unsigned long long a = descriptor(stage.a, 1024, 16);
            unsigned long long b = descriptor(stage.b, 1024, 64 * BK * sizeof(T));
            begin_products();
            #pragma unroll
            for (int h = 0; h < HIGH; ++h)  // 64 rows of A are 512 times 16 bytes
                #pragma unroll
                for (int k = 0; k < BK / 16; ++k)  // 16 columns of A, 16 rows of B, in 16 bytes
                    multiply<false>(acc[h], a + h * 512 + k * 2, b + k * 128, step + k);
            commit_products();
            await_products<1>();  // but those: this warpgroup is done with the stage before
            if (step > 0)
                give_back(before);
            before = ring.at;
        }
        if (tile + stride < across * down)
            pass<256>(1 + (group ^ 1));  // what it multiplies follows the last products of these
        await_products<0>();
        give_back(before);
        // ANCHOR_END: mainloop
        // ANCHOR: epilogue
        #pragma unroll
        for (int i = 0; i < HIGH * BN; i += 64) {  // boxes of each product, one after the other
            T* box = s.c[group][tid / 32][buffer];
            buffer ^= 1;
            if (lane == 0)
                await_stores<1>();  // the copy before the last has read its box
            __syncwarp();
            put(box, acc[i / BN], i % BN / 8, lane);
            show_writes();  // the copy sees it
            __syncwarp();
            if (lane == 0) {
                store_box(box, map_c, row0 + i / BN * 64 + tid / 32 * 16, col0 + i % BN);
                commit_stores();
            }
        }
        // ANCHOR_END: epilogue
    }
    if (lane == 0)
        await_stores<0>();
    meet_cluster();
}
