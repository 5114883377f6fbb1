// wgmma_ping_pong: two warpgroups multiply in turns.
//
//   D = act(alpha * r * c * A * B + bias) + beta * C      r of each row, c of each column
//
//   A is M x K; B is K x N, or stored as N x K; C and D are M x N
//
// Level 14, but a tile has one warpgroup, which makes all its products; the next tile has the other
// one. They take turns at the tensor cores: while one multiplies, the other one's tile leaves, so
// the tensor cores never wait for an epilogue but the last. Where K is large, clusters begin their
// tiles in step, so that they find in the L2 what one of them has fetched. The tiles of all
// products of a batch are one sequence.
//
// Given by KERNEL: INPUT_x, OUTPUT_x  types of A and B, and of C
//                  BM, BN             tile of C per block, and of a warpgroup, is BM x BN
//                  STAGES             buffers in shared memory
//                  CLUSTER            blocks of a cluster
//                  BLOCKS             blocks of the grid at most: as many as run at a time
//                  TRANSPOSED         1 if B is stored as N x K
//                  ADDED              1 if beta is not 0
//                  map_a              boxes of BM rows of 128 bytes of A, which lie swizzled
//                  map_b              of DEEP x 64 of B, or of BN / CLUSTER rows of the stored one
//                  map_c              of 16 rows of 128 bytes of D
//                  mapped             bits 0 to 2: whether map_a, map_b and map_c describe A, B, D
//                  batch              how many products, and how far their matrices lie apart
//                  epilogue           what becomes of a sum before it is rounded

#include "hopper.cuh"

#if defined(INPUT_E4M3)
using T = unsigned char;  // an element of A or B: its bits
#else
using T = unsigned short;
#endif
#if defined(OUTPUT_F32)
using Out = float;
#else
using Out = unsigned short;
#endif

#include "epilogue.cuh"

constexpr int BK = 128 / sizeof(T);  // one step along K: a row of a box has 128 bytes
// Whether B lies along K in shared memory: as it is stored, or because fp8 must. Of two bytes an
// element, wgmma transposes it on the way.
constexpr bool ALONG_K = TRANSPOSED || sizeof(T) == 1;
constexpr int WIDE = 128 / sizeof(Out);  // columns of a box of C
constexpr int PART = BN / CLUSTER;       // columns of B that a block fetches for all
constexpr int DEEP = PART % 64 == 0 ? BK : BK / 2;  // rows of a box of B
constexpr int HIGH = BM / 64;  // products of 64 rows, one below the other
constexpr int GROUPS = 2;      // warpgroups that multiply; the last one is the producer
struct alignas(1024) Stage {
    T a[BM * BK];  // rows of A
    T b[BK * BN];  // boxes of 64 columns of B, one after the other; ALONG_K, its columns as rows
};
struct Shared {
    Stage stages[STAGES];
    Out c[GROUPS][4][2][16 * WIDE];  // boxes of C on their way, two of each warp
    Barrier full[STAGES];
    Barrier empty[STAGES];
};
constexpr int THREADS = (GROUPS + 1) * 128;
// Registers of a thread: what all are launched with, what the producer keeps, what the others get.
constexpr int LAUNCHED = 65536 / THREADS / 8 * 8;
constexpr int KEPT = ADDED || BM * BN > 128 * 128 ? 72 : 88;
constexpr int SHARE = (LAUNCHED * (GROUPS + 1) - KEPT) / GROUPS / 8 * 8;
constexpr int GOT = SHARE < 240 ? SHARE : 240;
constexpr int BAND = 16 / CLUSTER;  // rows of tiles that clusters go through together
// Of fewer steps little is read and much is written: a row of tiles after the other, as D lies, and
// in a stream if D has more bytes than the L2 keeps, about.
constexpr int FEW = 8;
constexpr long long KEPT_BYTES = 32 << 20;
// Steps from which on clusters keep in step. All of K that they are at has room in the L2 if there
// are fewer: rows of less than 8 KB.
constexpr int MANY = 64;
static_assert(BM % 64 == 0, "BM must be a multiple of 64: so many rows has a product");
static_assert(BN == 64 || BN == 128 || BN == 192 || BN == 256,
              "BN must be 64, 128, 192 or 256: so many columns has a product");
static_assert(BM * BN <= 192 * 128, "BM * BN must be at most 24576: a thread holds 192 sums");
static_assert(PART * BK % (64 * DEEP) == 0,
              "CLUSTER must divide BN / 32: each block fetches whole boxes of B");
static_assert(STAGES >= 2, "STAGES must be at least 2: one is read while the next is filled");
static_assert(sizeof(Shared) <= 227 * 1024, "the stages must fit into 227 KiB of shared memory");

// A warpgroup waits until it is its turn to multiply; the one whose turn ends does not wait.
__device__ void await_turn(int group) {
    meet<256>(1 + group);
}

__device__ void give_turn(int group) {
    pass<256>(1 + group);
}

// All threads of the cluster wait for each other; what the barriers hold is all that they share.
__device__ void meet() {
    if (CLUSTER > 1)
        meet_cluster();
    else
        __syncthreads();
}

// ANCHOR: in_step
__device__ unsigned begun;  // tiles, beyond the first one of each cluster, in this launch

// A cluster begins a tile in this round, of which 0 is the first one. It waits until all clusters
// do. That is no condition: who has asked in vain for `patience` times goes on, and asks no more.
__device__ void keep_step(unsigned clusters, int round, int rounds, int& patience) {
    atomicInc(&begun, clusters * (rounds - 1) - 1);  // the last one of the launch makes it 0
    for (int asked = 0; asked < patience; ++asked) {
        unsigned now = *(volatile unsigned*)&begun;
        if (now == 0 || now >= clusters * round)
            return;
    }
    patience = 0;
}
// ANCHOR_END: in_step

// The same for matrices that no map describes, by the producer's threads: 128 bytes of some rows;
// or, ACROSS, of columns as rows.
template <int ROWS, bool ACROSS>
__device__ void copy_box(T* to, const T* from, int row, int col, int rows, int cols, int ld) {
    long long pitch = ld;
    #pragma unroll 4
    for (int i = threadIdx.x % 128; i < ROWS * BK; i += 128) {
        int r = ACROSS ? i % ROWS : i / BK;
        int c = ACROSS ? i / ROWS : i % BK;
        long long at = ACROSS ? (col + c) * pitch + row + r : (row + r) * pitch + col + c;
        bool inside = row + r < rows && col + c < cols;
        to[swizzled(r, c * sizeof(T)) / sizeof(T)] = inside ? from[at] : 0;
    }
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

// 16 rows and WIDE columns of C, which a warp's lanes hold, to a box in shared memory.
__device__ void put(Out* box, const float (&c)[BN / 8][4], int first, int lane) {
    #pragma unroll
    for (int n = 0; n < WIDE / 8; n += 2) {
        const float (&p)[4] = c[first + n];
        const float (&q)[4] = c[first + n + 1];
#if defined(OUTPUT_F32)
        #pragma unroll
        for (int half = 0; half < 2; ++half) {
            int row = 8 * half + lane / 4;
            int chunk = lane % 4 / 2 + 2 * n;
            float* to = box + row * 32 + lane % 2 * 2;
            *(Pair*)(to + (chunk ^ row % 8) * 4) = pair(p[2 * half], p[2 * half + 1]);
            *(Pair*)(to + (chunk + 2 ^ row % 8) * 4) = pair(q[2 * half], q[2 * half + 1]);
        }
#else
        Pair parts[4] = {pair(p[0], p[1]), pair(p[2], p[3]), pair(q[0], q[1]), pair(q[2], q[3])};
        const unsigned* part = (const unsigned*)parts;
        asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                     ::"r"(shared(box) + swizzled(lane % 16, 16 * n + lane / 16 * 16)),
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

    __device__ void skip(int stages) {
        at += stages;
        parity ^= at / STAGES % 2;
        at %= STAGES;
    }
};

// BARE, it is one A * B by maps alone, neither of FEW steps nor of so many that clusters had better
// keep in step: what it has no need of is not there.
template <bool BARE>
__device__ __forceinline__ void multiply_in_turns(
    const TensorMap& map_a, const TensorMap& map_b, const TensorMap& map_c, int mapped, const T* A,
    const T* B, Out* D, int M, int N, int K, int lda, int ldb, int ldd, float alpha, float beta,
    const Batch& batch, const Epilogue& epilogue) {
    extern __shared__ __align__(1024) unsigned char raw[];
    Shared& s = *(Shared*)raw;
    // ANCHOR: mapping
    int tid = threadIdx.x % 128;    // within the warpgroup
    // Every second tile of the block, or the producer. All lanes ask the first one, so that the
    // compiler knows it for one value of the warp, and all that follows from it.
    int group = __shfl_sync(0xffffffff, threadIdx.x / 128, 0);
    int rank = blockIdx.x % CLUSTER;
    // A cluster has tiles in CLUSTER rows. Clusters go through C band by band, and down each column
    // in a band; each takes every so many tiles.
    int across = (N - 1) / BN + 1;
    int down = (M - 1) / (BM * CLUSTER) + 1;
    int first = blockIdx.x / CLUSTER;
    int stride = gridDim.x / CLUSTER;
    int tiles = across * down * (BARE ? 1 : batch.count);
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
    bool by_maps = BARE || (mapped & 3) == 3 && (TRANSPOSED || !ALONG_K);
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; ++i) {
            init(s.full[i], by_maps ? 1 : 128);
            init(s.empty[i], CLUSTER);  // of each block, the warpgroup whose tile it is
        }
        show_barriers();
    }
    meet();  // the barriers are ready, in every block of the cluster
    Ring ring;
    // ANCHOR: producer
    if (group == GROUPS) {
        keep_registers<KEPT>();
        bool idle = by_maps && tid > 0;
        int rounds = BARE ? 1 << 30 : (tiles - 1) / stride + 1;
        int patience = 4 * steps;
        for (int round = 0; round < rounds && !idle; ++round) {
            if (!BARE && by_maps && rank == 0 && round > 0 && steps >= MANY)
                keep_step(stride, round, rounds, patience);
            int tile = first + round * stride;
            if (tile >= tiles)
                break;  // the last round is not whole
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
                    load_box(stage.a, map_a, row0, k, z_a, full);
                    int at = rank * PART * BK;  // of the tile of B, its share
                    if (TRANSPOSED)
                        load_box_for_all<CLUSTER>(stage.b + at, map_b, col0 + rank * PART, k, z_b,
                                                  full);
                    for (; !TRANSPOSED && at < (rank + 1) * PART * BK; at += 64 * DEEP)
                        load_box_for_all<CLUSTER>(stage.b + at, map_b, k + at / 64 % BK,
                                                  col0 + at / (64 * BK) * 64, z_b, full);
                } else {
                    copy_box<BM, false>(stage.a, a, row0, k, M, K, lda);
                    if (ALONG_K)
                        copy_box<BN, !TRANSPOSED>(stage.b, b, col0, k, N, K, ldb);
                    for (int n = 0; !ALONG_K && n < BN; n += 64)
                        copy_box<BK, false>(stage.b + n * BK, b, k, col0 + n, K, N, ldb);
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
    float acc[HIGH][BN / 8][4];
    unsigned long long first_a = descriptor(s.stages[0].a, 1024, 16);
    unsigned long long first_b =
        descriptor(s.stages[0].b, 1024, ALONG_K ? 16 : 64 * BK * sizeof(T));
    ring.skip(group * steps);
    // Each tile's stages are the other warpgroup's every second time.
    for (int tile = first + group * stride; tile < tiles;
         tile += 2 * stride, ring.skip(steps)) {
        go_to(tile);
        // ANCHOR: mainloop
        auto give_back = [&](int at) {  // to every block that fills a part of it
            if (tid < CLUSTER)
                arrive_at(s.empty[at], tid);
        };
        if (tile != first)
            await_turn(group);
        int before = 0;  // the stage of the step before
        for (int step = 0; step < steps; ++step, ring.next()) {
            wait(s.full[ring.at], ring.parity);
            unsigned long long a = first_a + ring.at * (sizeof(Stage) / 16);
            unsigned long long b = first_b + ring.at * (sizeof(Stage) / 16);
            begin_products();
            #pragma unroll
            for (int h = 0; h < HIGH; ++h)
                #pragma unroll
                for (int k = 0; k < 4; ++k)  // 32 bytes of a row of A; descriptors count in 16
                    multiply<ALONG_K>(acc[h], a + h * (64 * 128 / 16) + k * 2,
                                      b + k * (ALONG_K ? 2 : 128), step + k);
            commit_products();
            // All products but those have been made: this warpgroup is done with the stage before.
            await_products<1>();
            if (step > 0)
                give_back(before);
            before = ring.at;
        }
        if (tile + stride < tiles)  // its products follow the last ones of these
            give_turn(group ^ 1);
        await_products<0>();
        give_back(before);
        // ANCHOR_END: mainloop
        // ANCHOR: epilogue
        int left = col0 + lane % 4 * 2;
        float (&sums)[HIGH][BN / 2] = *(float (*)[HIGH][BN / 2])acc;
        bool inside = row0 + BM <= M && col0 + BN <= N;
        #pragma unroll
        for (int h = 0; h < HIGH && !BARE && !is_plain(epilogue); ++h)
            finish(sums[h], epilogue, product, row0 + 64 * h + 16 * warp + lane / 4, left, inside,
                   M, N, alpha, beta);
        #pragma unroll
        for (int i = 0; i < HIGH * BN / 2 && !BARE && is_plain(epilogue); ++i)
            sums[i / (BN / 2)][i % (BN / 2)] *= alpha;
        #pragma unroll
        for (int h = 0; h < HIGH && !BARE && !(mapped & 4); ++h)
            store(D + product * batch.d, sums[h], row0 + 64 * h + 16 * warp + lane / 4, left, M, N,
                  ldd);
        #pragma unroll
        for (int i = 0; i < HIGH * BN / WIDE && (BARE || mapped & 4); ++i) {
            int h = i / (BN / WIDE);
            int n = i % (BN / WIDE) * WIDE;
            Out* box = s.c[group][warp][buffer];
            buffer ^= 1;
            if (lane == 0)  // the copy before the last has read its box
                await_stores<1>();
            __syncwarp();
            put(box, acc[h], n / 8, lane);
            show_writes();  // the copy sees it
            __syncwarp();
            if (lane == 0) {
                int top = row0 + 64 * h + 16 * warp;
                if (is_stream())
                    store_box(box, map_c, top, col0 + n, product, true);
                else
                    store_box(box, map_c, top, col0 + n, product);
                commit_stores();
            }
        }
        // ANCHOR_END: epilogue
    }
    if (lane == 0)
        await_stores<0>();
    meet();
}

extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(THREADS, 1)
gemm_turns(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,
           const __grid_constant__ TensorMap map_c, int mapped, const T* A, const T* B, Out* D,
           int M, int N, int K, int lda, int ldb, int ldd, float alpha, float beta,
           const __grid_constant__ Batch batch, const __grid_constant__ Epilogue epilogue) {
    multiply_in_turns<false>(map_a, map_b, map_c, mapped, A, B, D, M, N, K, lda, ldb, ldd, alpha,
                             beta, batch, epilogue);
}

#if !ADDED && (TRANSPOSED || defined(INPUT_BF16) || defined(INPUT_F16))
// A kernel of its own: beside the other path, in one kernel, it took longer.
extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(THREADS, 1)
gemm_turns_plain(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,
                 const __grid_constant__ TensorMap map_c, int mapped, const T* A, const T* B,
                 Out* D, int M, int N, int K, int lda, int ldb, int ldd, float alpha, float beta,
                 const __grid_constant__ Batch batch, const __grid_constant__ Epilogue epilogue) {
    multiply_in_turns<true>(map_a, map_b, map_c, mapped, A, B, D, M, N, K, lda, ldb, ldd, alpha,
                            beta, batch, epilogue);
}
#endif
