// wgmma_clusters: clusters of persistent blocks.
//
//   C = alpha * A * B + beta * C      A is M x K, B is K x N, or stored as N x K; C is M x N
//
// Level 13, but blocks come in clusters of neighbours in a column of tiles: they need the same part
// of B, so each fetches a share of it, once, for all. A cluster does not end with its tile: it goes
// on to the next one, and while the producer fetches that already, the tile before leaves through
// shared memory, by copies as well.
//
// Given by KERNEL: INPUT_x, OUTPUT_x  types of A and B, and of C
//                  BM, BN             tile of C per block is BM x BN, 64 rows for each warpgroup
//                                     that multiplies
//                  STAGES             buffers in shared memory
//                  CLUSTER            blocks of a cluster
//                  BLOCKS             blocks of the grid at most: as many as run at a time
//                  TRANSPOSED         1 if B is stored as N x K
//                  ADDED              1 if beta is not 0
//                  map_a              boxes of BM x 64 of A, whose rows of 128 bytes lie swizzled
//                  map_b              of DEEP x 64 of B, or of BN / CLUSTER x 64 of the stored one
//                  map_c              of 64 rows of 128 bytes of C
//                  mapped             bits 0 to 2: whether map_a, map_b and map_c describe A, B, C

#include "hopper.cuh"

using T = unsigned short;  // an element of A or B: its bits
#if defined(OUTPUT_F32)
using Out = float;
#else
using Out = unsigned short;
#endif

constexpr int BK = 64;  // one step along K: a row of a box has 128 bytes
constexpr int WIDE = 128 / sizeof(Out);  // columns of a box of C
constexpr int PART = BN / CLUSTER;       // columns of B that a block fetches for all
constexpr int DEEP = PART % 64 == 0 ? BK : BK / 2;  // rows of a box of B
struct alignas(1024) Stage {
    T a[BM * BK];  // rows of A
    T b[BK * BN];  // boxes of 64 columns of B, one after the other; or rows of the stored one
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
constexpr int KEPT = 56;
constexpr int SHARE = (LAUNCHED * (GROUPS + 1) - KEPT) / GROUPS / 8 * 8;
constexpr int GOT = SHARE < 240 ? SHARE : 240;
constexpr int BAND = 16 / CLUSTER;  // rows of tiles that clusters go through together
static_assert(BM % 64 == 0 && BM <= 192,
              "BM must be 64, 128 or 192: 64 rows for each of at most three warpgroups");
static_assert(BN == 64 || BN == 128 || BN == 192 || BN == 256,
              "BN must be 64, 128, 192 or 256: so many columns has a product of a warpgroup");
static_assert(BM < 192 || BN < 256, "BM = 192 leaves too few registers for BN = 256");
static_assert(PART * BK % (64 * DEEP) == 0,
              "CLUSTER must divide BN / 32: each block fetches whole boxes of B");
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
    return row * 64 + ((col / 8 ^ row % 8) * 8 + col % 8);
}

// The same for matrices that no map describes: 64 columns of some rows, by the producer's threads.
template <int ROWS>
__device__ void copy_box(T* to, const T* from, int row, int col, int rows, int cols, int ld) {
    int c = threadIdx.x % 64;
    int r = threadIdx.x % 128 / 64;
    from += (row + r) * ld + col + c;
    #pragma unroll 8
    for (; r < ROWS; r += 2, from += 2 * ld)
        to[place(r, c)] = row + r < rows && col + c < cols ? *from : 0;
}

// Two neighbours of a row of C.
struct alignas(2 * sizeof(Out)) Pair {
    Out x, y;
};

__device__ Pair pair(float x, float y) {
    Pair pair;
#if defined(OUTPUT_BF16)
    *(unsigned*)&pair = as_bf16x2(x, y);
#elif defined(OUTPUT_F16)
    *(unsigned*)&pair = as_f16x2(x, y);
#else
    pair = {x, y};
#endif
    return pair;
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

// 64 rows and WIDE columns of C, of which a warp's lanes hold 16 rows, to a box in shared memory.
__device__ void put(Out* box, const float (&c)[BN / 8][4], int first, int warp, int lane) {
    #pragma unroll
    for (int n = 0; n < WIDE / 8; n += 2) {
        const float (&p)[4] = c[first + n];
        const float (&q)[4] = c[first + n + 1];
#if defined(OUTPUT_F32)
        #pragma unroll
        for (int half = 0; half < 2; ++half) {
            int row = 16 * warp + 8 * half + lane / 4;
            int chunk = lane % 4 / 2 + 2 * n;
            float* to = box + row * 32 + lane % 2 * 2;
            *(Pair*)(to + (chunk ^ row % 8) * 4) = pair(p[2 * half], p[2 * half + 1]);
            *(Pair*)(to + (chunk + 2 ^ row % 8) * 4) = pair(q[2 * half], q[2 * half + 1]);
        }
#else
        Pair parts[4] = {pair(p[0], p[1]), pair(p[2], p[3]), pair(q[0], q[1]), pair(q[2], q[3])};
        const unsigned* part = (const unsigned*)parts;
        asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                     ::"r"(shared(box + place(16 * warp + lane % 16, 8 * n + lane / 16 * 8))),
                       "r"(part[0]), "r"(part[1]), "r"(part[2]), "r"(part[3]) : "memory");
#endif
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
};

extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(THREADS, 1)
gemm_clusters(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,
              const __grid_constant__ TensorMap map_c, int mapped, const T* A, const T* B, Out* C,
              int M, int N, int K, int lda, int ldb, int ldc, float alpha, float beta) {
    extern __shared__ __align__(1024) unsigned char raw[];
    Shared& s = *(Shared*)raw;
    // ANCHOR: mapping
    int tid = threadIdx.x % 128;    // within the warpgroup
    int group = threadIdx.x / 128;  // 64 rows of the tile; or the producer
    int rank = blockIdx.x % CLUSTER;
    // A cluster has tiles in CLUSTER rows. Clusters go through C band by band, and down each column
    // in a band; each takes every so many tiles.
    int across = (N + BN - 1) / BN;
    int down = (M + BM * CLUSTER - 1) / (BM * CLUSTER);
    int first = blockIdx.x / CLUSTER;
    int stride = gridDim.x / CLUSTER;
    int row0;  // the tile's corner in C
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
    bool by_maps = (mapped & 3) == 3;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; ++i) {
            init(s.full[i], by_maps ? 1 : 128);
            init(s.empty[i], GROUPS * CLUSTER);
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
                if (by_maps) {
                    arrive_and_expect(full, sizeof(Stage));
                    load_box(stage.a, map_a, row0, k, full);
                    int at = rank * PART * BK;  // of the tile of B, its share
                    if (TRANSPOSED)
                        load_box_for_all<CLUSTER>(stage.b + at, map_b, col0 + rank * PART, k, full);
                    for (; !TRANSPOSED && at < (rank + 1) * PART * BK; at += 64 * DEEP)
                        load_box_for_all<CLUSTER>(stage.b + at, map_b, k + at / 64 % BK,
                                         col0 + at / (64 * BK) * 64, full);
                } else {
                    copy_box<BM>(stage.a, A, row0, k, M, K, lda);
                    if (TRANSPOSED)
                        copy_box<BN>(stage.b, B, col0, k, N, K, ldb);
                    for (int n = 0; !TRANSPOSED && n < BN; n += 64)
                        copy_box<BK>(stage.b + n * BK, B, k, col0 + n, K, N, ldb);
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
    int lane = tid % 32;
    int warp = tid / 32;
    int buffer = 0;
    float acc[BN / 8][4];
    for (int tile = first; tile < across * down; tile += stride) {
        go_to(tile);
        // ANCHOR: mainloop
        auto give_back = [&](int at) {  // to every block that fills a part of it
            if (tid < CLUSTER)
                arrive_at(s.empty[at], tid);
        };
        int before = 0;  // the stage of the step before
        for (int step = 0; step < steps; ++step, ring.next()) {
            Stage& stage = s.stages[ring.at];
            wait(s.full[ring.at], ring.parity);
            unsigned long long a = descriptor(stage.a + group * 64 * BK, 1024, 16);
            unsigned long long b = descriptor(stage.b, 1024, TRANSPOSED ? 16 : 64 * BK * sizeof(T));
            begin_products();
            #pragma unroll
            for (int k = 0; k < BK / 16; ++k)  // 16 columns of A, 16 rows of B, in 16 bytes
                multiply<TRANSPOSED>(acc, a + k * 2, b + k * (TRANSPOSED ? 2 : 128), step + k);
            commit_products();
            // All products but those have been made: this warpgroup is done with the stage before.
            await_products<1>();
            if (step > 0)
                give_back(before);
            before = ring.at;
        }
        await_products<0>();
        give_back(before);
        // ANCHOR_END: mainloop
        // ANCHOR: epilogue
        #pragma unroll
        for (int n = 0; n < BN / 8; ++n)
            #pragma unroll
            for (int half = 0; half < 2; ++half) {
                int row = row0 + 64 * group + 16 * warp + 8 * half + lane / 4;
                int col = col0 + 8 * n + lane % 4 * 2;
                float& x = acc[n][2 * half];
                float& y = acc[n][2 * half + 1];
                x *= alpha;
                y *= alpha;
                Out* to = &C[row * ldc + col];
                if (ADDED && row < M && col < N)
                    x += beta * number(to[0]);
                if (ADDED && row < M && col + 1 < N)
                    y += beta * number(to[1]);
                if (!(mapped & 4) && row < M) {
                    Pair both = pair(x, y);
                    if (col < N)
                        to[0] = both.x;
                    if (col + 1 < N)
                        to[1] = both.y;
                }
            }
        if (mapped & 4) {
            #pragma unroll
            for (int n = 0; n < BN; n += WIDE) {
                Out* box = s.c[group][buffer];
                buffer ^= 1;
                if (tid == 0)  // the copy before the last has read its box
                    await_stores<1>();
                meet<128>(group + 1);
                put(box, acc, n / 8, warp, lane);
                show_writes();  // the copy sees it
                meet<128>(group + 1);
                if (tid == 0) {
                    store_box(box, map_c, row0 + 64 * group, col0 + n);
                    commit_stores();
                }
            }
        }
        // ANCHOR_END: epilogue
    }
    if (tid == 0)
        await_stores<0>();
    meet();
}
