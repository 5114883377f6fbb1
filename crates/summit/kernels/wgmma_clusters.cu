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

using T = unsigned short;  // an element of A or B: its bits
#if defined(OUTPUT_F32)
using Out = float;
#else
using Out = unsigned short;
#endif

struct alignas(64) TensorMap {
    char bytes[128];
};
using Barrier = unsigned long long;
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

__device__ unsigned shared(const void* p) {
    return __cvta_generic_to_shared(p);
}

// ANCHOR: barriers
// A barrier's phase ends when so many threads have arrived, and all bytes that it expects are here.
__device__ void init(Barrier& barrier, int threads) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared(&barrier)), "r"(threads)
                 : "memory");
}

__device__ void arrive(Barrier& barrier) {
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(shared(&barrier)) : "memory");
}

// At the barrier in the same place of another block of the cluster.
__device__ void arrive_at(Barrier& barrier, int rank) {
    asm volatile("{\n"
                 ".reg .b32 there;\n"
                 "mapa.shared::cluster.u32 there, %0, %1;\n"
                 "mbarrier.arrive.shared::cluster.b64 _, [there];\n"
                 "}" ::"r"(shared(&barrier)), "r"(rank) : "memory");
}

__device__ void arrive_and_expect(Barrier& barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;"
                 ::"r"(shared(&barrier)), "r"(bytes) : "memory");
}

// Until the phase of this parity has ended.
__device__ void wait(Barrier& barrier, int parity) {
    asm volatile("{\n"
                 ".reg .pred ended;\n"
                 "AGAIN:\n"
                 "mbarrier.try_wait.parity.shared.b64 ended, [%0], %1;\n"
                 "@!ended bra AGAIN;\n"
                 "}" ::"r"(shared(&barrier)), "r"(parity) : "memory");
}

// The box whose first element is in this row and column. Beyond the edge it holds zeros.
__device__ void load_box(T* to, const TensorMap& map, int row, int col, Barrier& barrier) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier"
                 "::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                 ::"r"(shared(to)), "l"(&map), "r"(col), "r"(row), "r"(shared(&barrier))
                 : "memory");
}

// The same for all blocks of the cluster: it comes to this place, and counts at this barrier, in
// each of them.
__device__ void load_box_for_all(T* to, const TensorMap& map, int row, int col, Barrier& barrier) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier"
                 "::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;"
                 ::"r"(shared(to)), "l"(&map), "r"(col), "r"(row), "r"(shared(&barrier)),
                   "h"((unsigned short)((1 << CLUSTER) - 1))
                 : "memory");
}

// A box on its way to C; what is beyond the edge is left out.
__device__ void store_box(const Out* from, const TensorMap& map, int row, int col) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];"
                 ::"l"(&map), "r"(col), "r"(row), "r"(shared(from)) : "memory");
    asm volatile("cp.async.bulk.commit_group;");
}

// All threads of a warpgroup wait for each other.
__device__ void meet_group(int group) {
    asm volatile("bar.sync %0, 128;" ::"r"(group + 1) : "memory");
}

// All threads of the cluster wait for each other; what the barriers hold is all that they share.
__device__ void meet() {
    if (CLUSTER > 1)
        asm volatile("barrier.cluster.arrive.relaxed;\nbarrier.cluster.wait;" ::: "memory");
    else
        __syncthreads();
}
// ANCHOR_END: barriers

// Where an element of a box lies: of the 16-byte chunks of 8 rows, each row has its own order.
__device__ int swizzled(int row, int col) {
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
        to[swizzled(r, c)] = row + r < rows && col + c < cols ? *from : 0;
}

// ANCHOR: descriptor
// Tells wgmma where its operand lies: rows of 128 bytes, swizzled, and how many bytes it is from 8
// rows to the next 8, and from a box to the next.
__device__ unsigned long long descriptor(const T* p, int rows, int box) {
    return (unsigned long long)(shared(p) >> 4 & 0x3fff) | (unsigned long long)(box >> 4) << 16 |
           (unsigned long long)(rows >> 4) << 32 | 1ull << 62;
}
// ANCHOR_END: descriptor

#if defined(INPUT_BF16)
#define TYPES "f32.bf16.bf16 "
#else
#define TYPES "f32.f16.f16 "
#endif
#if TRANSPOSED
#define ROWS "0"
#else
#define ROWS "1"
#endif
// Registers by number, and the sums that they are.
#define R8(d, a, b, c, e, f, g, h) \
    "%" #d ", %" #a ", %" #b ", %" #c ", %" #e ", %" #f ", %" #g ", %" #h
#define R32                                                                                    \
    R8(0, 1, 2, 3, 4, 5, 6, 7) ", " R8(8, 9, 10, 11, 12, 13, 14, 15) ", "                      \
    R8(16, 17, 18, 19, 20, 21, 22, 23) ", " R8(24, 25, 26, 27, 28, 29, 30, 31)
#define R64                                                                                    \
    R32 ", " R8(32, 33, 34, 35, 36, 37, 38, 39) ", " R8(40, 41, 42, 43, 44, 45, 46, 47) ", "   \
    R8(48, 49, 50, 51, 52, 53, 54, 55) ", " R8(56, 57, 58, 59, 60, 61, 62, 63)
#define R96                                                                                    \
    R64 ", " R8(64, 65, 66, 67, 68, 69, 70, 71) ", " R8(72, 73, 74, 75, 76, 77, 78, 79) ", "   \
    R8(80, 81, 82, 83, 84, 85, 86, 87) ", " R8(88, 89, 90, 91, 92, 93, 94, 95)
#define R128                                                                                   \
    R96 ", "                                                                                   \
    R8(96, 97, 98, 99, 100, 101, 102, 103) ", " R8(104, 105, 106, 107, 108, 109, 110, 111) ", " \
    R8(112, 113, 114, 115, 116, 117, 118, 119) ", " R8(120, 121, 122, 123, 124, 125, 126, 127)
#define S4(i) "+f"(c[i][0]), "+f"(c[i][1]), "+f"(c[i][2]), "+f"(c[i][3])
#define S32(i) S4(i), S4(i + 1), S4(i + 2), S4(i + 3), S4(i + 4), S4(i + 5), S4(i + 6), S4(i + 7)

// Begins c = a * b, or c += a * b: 64 rows of A, 16 of B; row by row, it is transposed on the way.
__device__ void multiply(float (&c)[BN / 8][4], unsigned long long a, unsigned long long b,
                         int add) {
#if BN == 256
    asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %130, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n256k16." TYPES
                 "{" R128 "}, %128, %129, add, 1, 1, 0, " ROWS ";\n}"
                 : S32(0), S32(8), S32(16), S32(24) : "l"(a), "l"(b), "r"(add));
#elif BN == 192
    asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %98, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n192k16." TYPES
                 "{" R96 "}, %96, %97, add, 1, 1, 0, " ROWS ";\n}"
                 : S32(0), S32(8), S32(16) : "l"(a), "l"(b), "r"(add));
#elif BN == 128
    asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %66, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128k16." TYPES
                 "{" R64 "}, %64, %65, add, 1, 1, 0, " ROWS ";\n}"
                 : S32(0), S32(8) : "l"(a), "l"(b), "r"(add));
#else
    asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %34, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16." TYPES
                 "{" R32 "}, %32, %33, add, 1, 1, 0, " ROWS ";\n}"
                 : S32(0) : "l"(a), "l"(b), "r"(add));
#endif
}

// Two neighbours of a row of C.
struct alignas(2 * sizeof(Out)) Pair {
    Out x, y;
};

__device__ Pair pair(float x, float y) {
    Pair pair;
#if defined(OUTPUT_BF16)
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(*(unsigned*)&pair) : "f"(y), "f"(x));
#elif defined(OUTPUT_F16)
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(*(unsigned*)&pair) : "f"(y), "f"(x));
#else
    pair = {x, y};
#endif
    return pair;
}

__device__ float number(Out x) {
#if defined(OUTPUT_BF16)
    return __uint_as_float((unsigned)x << 16);
#elif defined(OUTPUT_F16)
    float number;
    asm("cvt.f32.f16 %0, %1;" : "=f"(number) : "h"(x));
    return number;
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
                     ::"r"(shared(box + swizzled(16 * warp + lane % 16, 8 * n + lane / 16 * 8))),
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
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    meet();  // the barriers are ready, in every block of the cluster
    Ring ring;
    // ANCHOR: producer
    if (group == GROUPS) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(KEPT));
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
                        load_box_for_all(stage.b + at, map_b, col0 + rank * PART, k, full);
                    for (; !TRANSPOSED && at < (rank + 1) * PART * BK; at += 64 * DEEP)
                        load_box_for_all(stage.b + at, map_b, k + at / 64 % BK,
                                         col0 + at / (64 * BK) * 64, full);
                } else {
                    copy_box<BM>(stage.a, A, row0, k, M, K, lda);
                    if (TRANSPOSED)
                        copy_box<BN>(stage.b, B, col0, k, N, K, ldb);
                    for (int n = 0; !TRANSPOSED && n < BN; n += 64)
                        copy_box<BK>(stage.b + n * BK, B, k, col0 + n, K, N, ldb);
                    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // wgmma sees it
                    arrive(full);
                }
            }
        }
        meet();  // nobody leaves while others may arrive at its barriers
        return;
    }
    // ANCHOR_END: producer
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(GOT));
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
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
            #pragma unroll
            for (int k = 0; k < BK / 16; ++k)  // 16 columns of A, 16 rows of B, in 16 bytes
                multiply(acc, a + k * 2, b + k * (TRANSPOSED ? 2 : 128), step + k);
            asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
            // All products but those have been made: this warpgroup is done with the stage before.
            asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
            if (step > 0)
                give_back(before);
            before = ring.at;
        }
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
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
                    asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
                meet_group(group);
                put(box, acc, n / 8, warp, lane);
                asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // the copy sees it
                meet_group(group);
                if (tid == 0)
                    store_box(box, map_c, row0 + 64 * group, col0 + n);
            }
        }
        // ANCHOR_END: epilogue
    }
    if (tid == 0)
        asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    meet();
}
