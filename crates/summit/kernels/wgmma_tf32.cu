// wgmma_tf32: tf32 by warpgroups.
//
//   C = A * B      A is M x K, B is K x N, C is M x N; row-major, no padding.
//
// Level 14, for elements of 32 bits, of which wgmma transposes none: both operands must lie along K
// in shared memory. A does, B does not. So a warpgroup computes the transpose, C' = B' * A': A is
// the operand that wgmma reads in shared memory, and B' comes from registers, where each thread
// puts its elements of it; a warp reads them from all banks at once. The blocks of a cluster are
// neighbours in a row of tiles: they need the same rows of A, and each fetches a share.
//
// Given by KERNEL: BM, BN             tile of C per block is BM x BN, 64 columns for each warpgroup
//                                     that multiplies
//                  STAGES             buffers in shared memory
//                  CLUSTER            blocks of a cluster
//                  BLOCKS             blocks of the grid at most: as many as run at a time
//                  map_a              boxes of BM / CLUSTER x 32 of A, whose rows of 128 bytes lie
//                                     swizzled in shared memory
//                  map_b, map_c       of 32 x 32 of B and of C
//                  mapped             bits 0 to 2: whether map_a, map_b and map_c describe A, B, C

#include "hopper.cuh"

constexpr int WIDE = 32;            // columns of a box: 128 bytes
constexpr int BK = WIDE;            // one step along K
constexpr int PART = BM / CLUSTER;  // rows of A that a block fetches for all
constexpr int BOX = 32 * WIDE;      // elements of a box of B or C
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
constexpr int KEPT = 72;
constexpr int SHARE = (LAUNCHED * (GROUPS + 1) - KEPT) / GROUPS / 8 * 8;
constexpr int GOT = SHARE < 240 ? SHARE : 240;
constexpr int BAND = 8;  // rows of tiles that clusters go through together
static_assert(BN % 64 == 0 && BN <= 192,
              "BN must be 64, 128 or 192: 64 columns for each of at most three warpgroups");
static_assert(BM == 64 || BM == 128 || BM == 256,
              "BM must be 64, 128 or 256: so many rows has a product of a warpgroup");
static_assert(BN < 192 || BM < 256, "BN = 192 leaves too few registers for BM = 256");
static_assert(BM % CLUSTER == 0 && PART % 8 == 0,
              "CLUSTER must divide BM / 8: each block fetches whole groups of 8 rows of A");
static_assert(STAGES >= 2, "STAGES must be at least 2: one is read while the next is filled");
static_assert(sizeof(Shared) <= 227 * 1024, "the stages must fit into 227 KiB of shared memory");

// All threads of the cluster wait for each other; what the barriers hold is all that they share.
__device__ void meet() {
    if (CLUSTER > 1)
        meet_cluster();
    else
        __syncthreads();
}

// Where an element of a box lies: of the 16-byte chunks of 8 rows, each row has its own order.
__device__ int place(int row, int col) {
    return row * WIDE + ((col / 4 ^ row % 8) * 4 + col % 4);
}

// The same for matrices that no map describes: 32 columns of some rows, by the producer's threads.
template <int ROWS>
__device__ void copy_box(float* to, const float* from, int row, int col, int rows, int cols) {
    int c = threadIdx.x % 32;
    int r = threadIdx.x % 128 / 32;
    from += (row + r) * (long long)cols + col + c;
    #pragma unroll 8
    for (; r < ROWS; r += 4, from += 4LL * cols)
        to[place(r, c)] = row + r < rows && col + c < cols ? *from : 0;
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
          const __grid_constant__ TensorMap map_c, int mapped, const float* A, const float* B,
          float* C, int M, int N, int K) {
    extern __shared__ __align__(1024) unsigned char raw[];
    Shared& s = *(Shared*)raw;
    // ANCHOR: mapping
    int tid = threadIdx.x % 128;    // within the warpgroup
    int group = threadIdx.x / 128;  // 64 columns of the tile; or the producer
    int rank = blockIdx.x % CLUSTER;
    // A cluster has tiles in CLUSTER columns. Clusters go through C band by band, and down each
    // column in a band; each takes every so many tiles.
    int across = (N - 1) / (BN * CLUSTER) + 1;
    int down = (M - 1) / BM + 1;
    int first = blockIdx.x / CLUSTER;
    int stride = gridDim.x / CLUSTER;
    int row0;  // the tile's corner in C
    int col0;
    auto go_to = [&](int tile) {
        int band = tile / (BAND * across) * BAND;
        int at = tile % (BAND * across);
        int height = min(BAND, down - band);
        row0 = (band + at % height) * BM;
        col0 = (at / height * CLUSTER + rank) * BN;
    };
    int steps = (K + BK - 1) / BK;
    // ANCHOR_END: mapping
    bool by_maps = (mapped & 3) == 3;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; ++i) {
            init(s.full[i], by_maps ? 1 : 128);
            init(s.empty[i], GROUPS * 4 * CLUSTER);
        }
        show_barriers();
    }
    meet();  // the barriers are ready, in every block of the cluster
    Ring ring;
    // ANCHOR: producer
    if (group == GROUPS) {
        keep_registers<KEPT>();
        bool idle = by_maps && tid > 0;
        for (int tile = first; tile < across * down && !idle; tile += stride) {
            go_to(tile);
            for (int step = 0; step < steps; ++step, ring.next()) {
                Stage& stage = s.stages[ring.at];
                Barrier& full = s.full[ring.at];
                int k = step * BK;
                wait(s.empty[ring.at], ring.parity ^ 1);  // at first, each stage is empty
                // What the threads have read there, they read before the copies that come now.
                show_writes();
                if (by_maps) {
                    arrive_and_expect(full, sizeof(Stage));
                    int m = rank * PART;
                    load_box_for_all<CLUSTER>(stage.a + m * BK, map_a, row0 + m, k, full);
                    for (int n = 0; n < BN; n += WIDE)
                        load_box(stage.b + n * BK, map_b, k, col0 + n, full);
                } else {
                    copy_box<BM>(stage.a, A, row0, k, M, K);
                    for (int n = 0; n < BN; n += WIDE)
                        copy_box<BK>(stage.b + n * BK, B, k, col0 + n, K, N);
                    show_writes();  // wgmma sees it
                    arrive(full);
                }
            }
        }
        meet();  // nobody leaves while others may arrive at its barriers
        return;
    }
    // ANCHOR_END: producer
    get_registers<GOT>();
    int warp = tid / 32;
    int g = tid % 32 / 4;
    int t = tid % 4;
    // ANCHOR: fragments
    // wgmma's rows g and g + 8 of a warp are two neighbours of B's columns, of a 16-byte chunk of a
    // box. Which one: so that a warp's accesses are to all banks, both to B and to C.
    int box = warp / 2;
    int chunk = g / 4 ^ (g / 2 % 2 * 5) ^ (warp % 2 * 2);
    int col = chunk * 4 + g % 2 * 2;
    unsigned b[BK / 8][4];
    // Reads rows t and t + 4 of each 8 of B.
    auto fetch = [&](const float* from, int k) {
        #pragma unroll
        for (int half = 0; half < 2; ++half) {
            uint2 pair = *(const uint2*)(from + 8 * k * WIDE + place(t + 4 * half, col));
            b[k][2 * half] = pair.x;
            b[k][2 * half + 1] = pair.y;
        }
    };
    // ANCHOR_END: fragments
    int buffer = 0;
    float acc[BM / 8][4];
    for (int tile = first; tile < across * down; tile += stride) {
        go_to(tile);
        // ANCHOR: mainloop
        auto give_back = [&](int at) {  // to every block that fills a part of it
            __syncwarp();               // its lanes have read theirs of B
            if (tid % 32 < CLUSTER)
                arrive_at(s.empty[at], tid % 32);
        };
        int before = 0;  // the stage of the step before
        for (int step = 0; step < steps; ++step, ring.next()) {
            Stage& stage = s.stages[ring.at];
            const float* from = stage.b + (2 * group + box) * BOX;
            unsigned long long a = descriptor(stage.a, 1024, 16);
            wait(s.full[ring.at], ring.parity);
            #pragma unroll
            for (int half = 0; half < BK / 8; half += BK / 16) {
                // While the products before are made, of other registers.
                #pragma unroll
                for (int k = half; k < half + BK / 16; ++k)
                    fetch(from, k);
                begin_products();
                #pragma unroll
                for (int k = half; k < half + BK / 16; ++k)  // 8 columns of A, in 16 bytes
                    multiply(acc, b[k], a + k * 2, step + k);
                commit_products();
                // All products but those have been made.
                await_products<1>();
                if (half == 0 && step > 0)
                    give_back(before);
            }
            before = ring.at;
        }
        await_products<0>();
        give_back(before);
        // ANCHOR_END: mainloop
        // ANCHOR: epilogue
        if (mapped & 4) {
            #pragma unroll
            for (int m = 0; m < BM; m += 32) {
                float(&boxes)[2][BOX] = s.c[group][buffer];
                buffer ^= 1;
                if (tid == 0)  // the copies before the last have read their boxes
                    await_stores<1>();
                meet<128>(group + 1);
                #pragma unroll
                for (int i = 0; i < 8; ++i) {
                    const float(&c)[4] = acc[m / 8 + i / 2];
                    int row = i / 2 * 8 + 2 * t + i % 2;
                    *(float2*)&boxes[box][place(row, col)] = {c[i % 2], c[2 + i % 2]};
                }
                show_writes();  // the copy sees it
                meet<128>(group + 1);
                if (tid == 0) {
                    store_box(boxes[0], map_c, row0 + m, col0 + 64 * group);
                    store_box(boxes[1], map_c, row0 + m, col0 + 64 * group + WIDE);
                    commit_stores();
                }
            }
        } else {
            #pragma unroll
            for (int i = 0; i < BM / 4; ++i) {
                int row = row0 + i / 2 * 8 + 2 * t + i % 2;
                int left = N - (col0 + 64 * group + box * WIDE + col);
                float* to = &C[row * (long long)N + N - left];
                if (row < M && left > 0)
                    to[0] = acc[i / 2][i % 2];
                if (row < M && left > 1)
                    to[1] = acc[i / 2][2 + i % 2];
            }
        }
        // ANCHOR_END: epilogue
    }
    if (tid == 0)
        await_stores<0>();
    meet();
}
