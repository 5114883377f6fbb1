// wgmma_clusters: clusters of persistent blocks.
//
//   D = act(alpha * r * c * A * B + bias) + beta * C      r of each row, c of each column
//
//   A is M x K, or stored as K x M; B is K x N, or stored as N x K; C and D are M x N
//
// Level 13, but blocks come in clusters of neighbours in a column of tiles: they need the same part
// of B, so each fetches a share of it, once, for all. A cluster does not end with its tile: it goes
// on to the next one, and while the producer fetches that already, the tile before leaves through
// shared memory, by copies as well. The tiles of all products of a batch are one sequence.
//
// Given by KERNEL: INPUT_x, OUTPUT_x  types of A and B, and of C
//                  BM, BN             tile of C per block is BM x BN, 64 rows for each warpgroup
//                                     that multiplies
//                  STAGES             buffers in shared memory
//                  CLUSTER            blocks of a cluster
//                  BLOCKS             blocks of the grid at most: as many as run at a time
//                  ACROSS             1 if A is stored as K x M
//                  TRANSPOSED         1 if B is stored as N x K
//                  ADDED              1 if beta is not 0
//                  map_a              boxes of BM x 64 of A, whose rows of 128 bytes lie swizzled;
//                                     or of 64 x 64 of the stored one
//                  map_b              of DEEP x 64 of B, or of BN / CLUSTER x 64 of the stored one
//                  map_c              of 64 rows of 128 bytes of D
//                  mapped             bits 0 to 2: whether map_a, map_b and map_c describe A, B, D
//                  batch              how many products, and how far their matrices lie apart
//                  epilogue           what becomes of a sum before it is rounded

#include "hopper.cuh"

using T = unsigned short;  // an element of A or B: its bits
#if defined(OUTPUT_F32)
using Out = float;
#else
using Out = unsigned short;
#endif

#include "epilogue.cuh"

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
constexpr int KEPT = 72;
constexpr int SHARE = (LAUNCHED * (GROUPS + 1) - KEPT) / GROUPS / 8 * 8;
constexpr int GOT = SHARE < 240 ? SHARE : 240;
constexpr int BAND = 16 / CLUSTER;  // rows of tiles that clusters go through together
// Of fewer steps little is read and much is written: a row of tiles after the other, as D lies, and
// in a stream if D has more bytes than the L2 keeps, about.
constexpr int FEW = 8;
constexpr long long KEPT_BYTES = 32 << 20;
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

// Begins products as `multiply` of the header does, of an A that lies either way.
__device__ void multiply_any(float (&c)[BN / 8][4], unsigned long long a, unsigned long long b,
                             int add) {
#if ACROSS
#if TRANSPOSED
#define LAYOUTS ", 1, 0;\n}"
#else
#define LAYOUTS ", 1, 1;\n}"
#endif
#if BN == 256
    asm volatile(WGMMA_ADD(130) "wgmma.mma_async.sync.aligned.m64n256" WGMMA_TYPES
                 "{" WGMMA_R128 "}, %128, %129, add" WGMMA_SIGNS LAYOUTS
                 : WGMMA_S32(0), WGMMA_S32(8), WGMMA_S32(16), WGMMA_S32(24)
                 : "l"(a), "l"(b), "r"(add));
#elif BN == 192
    asm volatile(WGMMA_ADD(98) "wgmma.mma_async.sync.aligned.m64n192" WGMMA_TYPES
                 "{" WGMMA_R96 "}, %96, %97, add" WGMMA_SIGNS LAYOUTS
                 : WGMMA_S32(0), WGMMA_S32(8), WGMMA_S32(16) : "l"(a), "l"(b), "r"(add));
#elif BN == 128
    asm volatile(WGMMA_ADD(66) "wgmma.mma_async.sync.aligned.m64n128" WGMMA_TYPES
                 "{" WGMMA_R64 "}, %64, %65, add" WGMMA_SIGNS LAYOUTS
                 : WGMMA_S32(0), WGMMA_S32(8) : "l"(a), "l"(b), "r"(add));
#else
    asm volatile(WGMMA_ADD(34) "wgmma.mma_async.sync.aligned.m64n64" WGMMA_TYPES
                 "{" WGMMA_R32 "}, %32, %33, add" WGMMA_SIGNS LAYOUTS
                 : WGMMA_S32(0) : "l"(a), "l"(b), "r"(add));
#endif
#else
    multiply<TRANSPOSED>(c, a, b, add);
#endif
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
    from += (row + r) * (long long)ld + col + c;
    #pragma unroll 8
    for (; r < ROWS; r += 2, from += 2LL * ld)
        to[place(r, c)] = row + r < rows && col + c < cols ? *from : 0;
}

// Whether sums only meet alpha: then one branch passes by all that else may become of them.
__device__ bool is_plain(const Epilogue& epilogue) {
    return !ADDED && !epilogue.rows && !epilogue.columns && !epilogue.bias && !epilogue.activation;
}

// A box on its way to D, which the L2 keeps.
__device__ void store_box(const void* from, const TensorMap& map, int row, int col, int z) {
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group"
                 " [%0, {%1, %2, %3}], [%4];"
                 ::"l"(&map), "r"(col), "r"(row), "r"(z), "r"(shared(from)) : "memory");
}

// 64 rows and WIDE columns of D, of which a warp's lanes hold 16 rows, to a box in shared memory.
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

// BARE, it is one A * B by maps alone, of at least FEW steps: what it has no need of is not there.
template <bool BARE>
__device__ __forceinline__ void multiply_tiles(
    const TensorMap& map_a, const TensorMap& map_b, const TensorMap& map_c, int mapped, const T* A,
    const T* B, Out* D, int M, int N, int K, int lda, int ldb, int ldd, float alpha, float beta,
    const Batch& batch, const Epilogue& epilogue) {
    extern __shared__ __align__(1024) unsigned char raw[];
    Shared& s = *(Shared*)raw;
    // ANCHOR: mapping
    int tid = threadIdx.x % 128;    // within the warpgroup
    // 64 rows of the tile; or the producer. All lanes ask the first one, so that the compiler knows
    // it for one value of the warp.
    int group = __shfl_sync(0xffffffff, threadIdx.x / 128, 0);
    int rank = blockIdx.x % CLUSTER;
    // A cluster has tiles in CLUSTER rows. Clusters go through C band by band, and down each column
    // in a band; each takes every so many tiles.
    int across = (N - 1) / BN + 1;
    int down = (M - 1) / (BM * CLUSTER) + 1;
    int tiles = across * down * (BARE ? 1 : batch.count);
    int first = blockIdx.x / CLUSTER;
    int stride = gridDim.x / CLUSTER;
    int product;  // of the batch
    int row0;     // the tile's corner in D
    int col0;
    int steps = (K + BK - 1) / BK;
    int high = !BARE && steps < FEW ? 1 : BAND;
    auto go_to = [&](int tile) {
        product = BARE ? 0 : tile / (across * down);
        tile -= product * (across * down);
        int band = tile / (high * across) * high;
        int at = tile % (high * across);
        int height = min(high, down - band);
        row0 = ((band + at % height) * CLUSTER + rank) * BM;
        col0 = at / height * BN;
    };
    // ANCHOR_END: mapping
    bool by_maps = BARE || (mapped & 3) == 3;
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
        for (int tile = first; tile < tiles && !idle; tile += stride) {
            go_to(tile);
            int z_a = BARE || !batch.a ? 0 : product;
            int z_b = BARE || !batch.b ? 0 : product;
            const T* a = A + product * batch.a;
            const T* b = B + product * batch.b;
            for (int step = 0; step < steps; ++step, ring.next()) {
                Stage& stage = s.stages[ring.at];
                Barrier& full = s.full[ring.at];
                int k = step * BK;
                wait(s.empty[ring.at], ring.parity ^ 1);  // at first, each stage is empty
                if (by_maps) {
                    arrive_and_expect(full, sizeof(Stage));
                    for (int m = 0; ACROSS && m < BM; m += 64)
                        load_box(stage.a + m * BK, map_a, k, row0 + m, z_a, full);
                    if (!ACROSS)
                        load_box(stage.a, map_a, row0, k, z_a, full);
                    int at = rank * PART * BK;  // of the tile of B, its share
                    if (TRANSPOSED)
                        load_box_for_all<CLUSTER>(stage.b + at, map_b, col0 + rank * PART, k, z_b,
                                                  full);
                    for (; !TRANSPOSED && at < (rank + 1) * PART * BK; at += 64 * DEEP)
                        load_box_for_all<CLUSTER>(stage.b + at, map_b, k + at / 64 % BK,
                                                  col0 + at / (64 * BK) * 64, z_b, full);
                } else {
                    for (int m = 0; ACROSS && m < BM; m += 64)
                        copy_box<BK>(stage.a + m * BK, a, k, row0 + m, K, M, lda);
                    if (!ACROSS)
                        copy_box<BM>(stage.a, a, row0, k, M, K, lda);
                    if (TRANSPOSED)
                        copy_box<BN>(stage.b, b, col0, k, N, K, ldb);
                    for (int n = 0; !TRANSPOSED && n < BN; n += 64)
                        copy_box<BK>(stage.b + n * BK, b, k, col0 + n, K, N, ldb);
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
    auto is_stream = [&] {
        return !BARE && steps < FEW &&
               (long long)M * N * batch.count * sizeof(Out) > KEPT_BYTES;
    };
    int lane = tid % 32;
    int warp = tid / 32;
    int buffer = 0;
    float acc[BN / 8][4];
    unsigned long long first_a = descriptor(s.stages[0].a + group * 64 * BK, 1024, 16);
    unsigned long long first_b =
        descriptor(s.stages[0].b, 1024, TRANSPOSED ? 16 : 64 * BK * sizeof(T));
    for (int tile = first; tile < tiles; tile += stride) {
        go_to(tile);
        // ANCHOR: mainloop
        auto give_back = [&](int at) {  // to every block that fills a part of it
            if (tid < CLUSTER)
                arrive_at(s.empty[at], tid);
        };
        int before = 0;  // the stage of the step before
        for (int step = 0; step < steps; ++step, ring.next()) {
            wait(s.full[ring.at], ring.parity);
            unsigned long long a = first_a + ring.at * (sizeof(Stage) / 16);
            unsigned long long b = first_b + ring.at * (sizeof(Stage) / 16);
            begin_products();
            #pragma unroll
            for (int k = 0; k < BK / 16; ++k)  // 16 columns of A, 16 rows of B, in 16 bytes
                multiply_any(acc, a + k * (ACROSS ? 128 : 2), b + k * (TRANSPOSED ? 2 : 128),
                             step + k);
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
        int top = row0 + 64 * group + 16 * warp + lane / 4;
        int left = col0 + lane % 4 * 2;
        float (&sums)[BN / 2] = *(float (*)[BN / 2])acc;
        bool inside = row0 + BM <= M && col0 + BN <= N;
        if (!BARE && !is_plain(epilogue)) {
            finish(sums, epilogue, product, top, left, inside, M, N, alpha, beta);
        } else if (!BARE) {
            #pragma unroll
            for (float& sum : sums)
                sum *= alpha;
        }
        if (!BARE && !(mapped & 4)) {
            store(D + product * batch.d, sums, top, left, M, N, ldd);
        } else {
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
                    if (is_stream())
                        store_box(box, map_c, row0 + 64 * group, col0 + n, product, true);
                    else
                        store_box(box, map_c, row0 + 64 * group, col0 + n, product);
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

extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(THREADS, 1)
gemm_clusters(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,
              const __grid_constant__ TensorMap map_c, int mapped, const T* A, const T* B, Out* D,
              int M, int N, int K, int lda, int ldb, int ldd, float alpha, float beta,
              const __grid_constant__ Batch batch, const __grid_constant__ Epilogue epilogue) {
    multiply_tiles<false>(map_a, map_b, map_c, mapped, A, B, D, M, N, K, lda, ldb, ldd, alpha, beta,
                          batch, epilogue);
}

#if !ADDED
// A kernel of its own: beside the other path, in one kernel, it took longer.
extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(THREADS, 1)
gemm_clusters_plain(const __grid_constant__ TensorMap map_a,
                    const __grid_constant__ TensorMap map_b,
                    const __grid_constant__ TensorMap map_c, int mapped, const T* A, const T* B,
                    Out* D, int M, int N, int K, int lda, int ldb, int ldd, float alpha, float beta,
                    const __grid_constant__ Batch batch,
                    const __grid_constant__ Epilogue epilogue) {
    multiply_tiles<true>(map_a, map_b, map_c, mapped, A, B, D, M, N, K, lda, ldb, ldd, alpha, beta,
                         batch, epilogue);
}
#endif
