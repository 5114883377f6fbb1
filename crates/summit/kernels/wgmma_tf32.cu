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

struct alignas(64) TensorMap {
    char bytes[128];
};
using Barrier = unsigned long long;
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
__device__ void load_box(float* to, const TensorMap& map, int row, int col, Barrier& barrier) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier"
                 "::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                 ::"r"(shared(to)), "l"(&map), "r"(col), "r"(row), "r"(shared(&barrier))
                 : "memory");
}

// The same for all blocks of the cluster: it comes to this place, and counts at this barrier, in
// each of them.
__device__ void load_box_for_all(float* to, const TensorMap& map, int row, int col,
                                 Barrier& barrier) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier"
                 "::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;"
                 ::"r"(shared(to)), "l"(&map), "r"(col), "r"(row), "r"(shared(&barrier)),
                   "h"((unsigned short)((1 << CLUSTER) - 1))
                 : "memory");
}

// A box on its way to C; what is beyond the edge is left out.
__device__ void store_box(const float* from, const TensorMap& map, int row, int col) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];"
                 ::"l"(&map), "r"(col), "r"(row), "r"(shared(from)) : "memory");
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
    return row * WIDE + ((col / 4 ^ row % 8) * 4 + col % 4);
}

// The same for matrices that no map describes: 32 columns of some rows, by the producer's threads.
template <int ROWS>
__device__ void copy_box(float* to, const float* from, int row, int col, int rows, int cols) {
    int c = threadIdx.x % 32;
    int r = threadIdx.x % 128 / 32;
    from += (row + r) * cols + col + c;
    #pragma unroll 8
    for (; r < ROWS; r += 4, from += 4 * cols)
        to[swizzled(r, c)] = row + r < rows && col + c < cols ? *from : 0;
}

// ANCHOR: descriptor
// Tells wgmma where its operand lies: rows of 128 bytes, swizzled, 1024 bytes from 8 of them to the
// next 8.
__device__ unsigned long long descriptor(const float* p) {
    return (unsigned long long)(shared(p) >> 4 & 0x3fff) | 1ull << 16 | 64ull << 32 | 1ull << 62;
}
// ANCHOR_END: descriptor

// Registers by number, and the sums that they are.
#define R8(d, a, b, c, e, f, g, h) \
    "%" #d ", %" #a ", %" #b ", %" #c ", %" #e ", %" #f ", %" #g ", %" #h
#define R32                                                                                    \
    R8(0, 1, 2, 3, 4, 5, 6, 7) ", " R8(8, 9, 10, 11, 12, 13, 14, 15) ", "                      \
    R8(16, 17, 18, 19, 20, 21, 22, 23) ", " R8(24, 25, 26, 27, 28, 29, 30, 31)
#define R64                                                                                    \
    R32 ", " R8(32, 33, 34, 35, 36, 37, 38, 39) ", " R8(40, 41, 42, 43, 44, 45, 46, 47) ", "   \
    R8(48, 49, 50, 51, 52, 53, 54, 55) ", " R8(56, 57, 58, 59, 60, 61, 62, 63)
#define R128                                                                                   \
    R64 ", " R8(64, 65, 66, 67, 68, 69, 70, 71) ", " R8(72, 73, 74, 75, 76, 77, 78, 79) ", "   \
    R8(80, 81, 82, 83, 84, 85, 86, 87) ", " R8(88, 89, 90, 91, 92, 93, 94, 95) ", "            \
    R8(96, 97, 98, 99, 100, 101, 102, 103) ", " R8(104, 105, 106, 107, 108, 109, 110, 111) ", " \
    R8(112, 113, 114, 115, 116, 117, 118, 119) ", " R8(120, 121, 122, 123, 124, 125, 126, 127)
#define S4(i) "+f"(c[i][0]), "+f"(c[i][1]), "+f"(c[i][2]), "+f"(c[i][3])
#define S32(i) S4(i), S4(i + 1), S4(i + 2), S4(i + 3), S4(i + 4), S4(i + 5), S4(i + 6), S4(i + 7)

// Begins c = b * a, or c += b * a, all transposed: the threads hold 64 columns of 8 rows of B, and
// in shared memory lie 8 columns of BM rows of A.
__device__ void multiply(float (&c)[BM / 8][4], const unsigned (&b)[4], unsigned long long a,
                         int add) {
#if BM == 256
    asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %133, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n256k8.f32.tf32.tf32 "
                 "{" R128 "}, {%128, %129, %130, %131}, %132, add, 1, 1;\n}"
                 : S32(0), S32(8), S32(16), S32(24)
                 : "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]), "l"(a), "r"(add));
#elif BM == 128
    asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %69, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128k8.f32.tf32.tf32 "
                 "{" R64 "}, {%64, %65, %66, %67}, %68, add, 1, 1;\n}"
                 : S32(0), S32(8)
                 : "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]), "l"(a), "r"(add));
#else
    asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %37, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32 "
                 "{" R32 "}, {%32, %33, %34, %35}, %36, add, 1, 1;\n}"
                 : S32(0)
                 : "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]), "l"(a), "r"(add));
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
    int across = (N + BN * CLUSTER - 1) / (BN * CLUSTER);
    int down = (M + BM - 1) / BM;
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
                // What the threads have read there, they read before the copies that come now.
                asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
                if (by_maps) {
                    arrive_and_expect(full, sizeof(Stage));
                    int m = rank * PART;
                    load_box_for_all(stage.a + m * BK, map_a, row0 + m, k, full);
                    for (int n = 0; n < BN; n += WIDE)
                        load_box(stage.b + n * BK, map_b, k, col0 + n, full);
                } else {
                    copy_box<BM>(stage.a, A, row0, k, M, K);
                    for (int n = 0; n < BN; n += WIDE)
                        copy_box<BK>(stage.b + n * BK, B, k, col0 + n, K, N);
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
            uint2 pair = *(const uint2*)(from + 8 * k * WIDE + swizzled(t + 4 * half, col));
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
            unsigned long long a = descriptor(stage.a);
            wait(s.full[ring.at], ring.parity);
            #pragma unroll
            for (int half = 0; half < BK / 8; half += BK / 16) {
                // While the products before are made, of other registers.
                #pragma unroll
                for (int k = half; k < half + BK / 16; ++k)
                    fetch(from, k);
                asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
                #pragma unroll
                for (int k = half; k < half + BK / 16; ++k)  // 8 columns of A, in 16 bytes
                    multiply(acc, b[k], a + k * 2, step + k);
                asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
                // All products but those have been made.
                asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
                if (half == 0 && step > 0)
                    give_back(before);
            }
            before = ring.at;
        }
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        give_back(before);
        // ANCHOR_END: mainloop
        // ANCHOR: epilogue
        if (mapped & 4) {
            #pragma unroll
            for (int m = 0; m < BM; m += 32) {
                float(&boxes)[2][BOX] = s.c[group][buffer];
                buffer ^= 1;
                if (tid == 0)  // the copies before the last have read their boxes
                    asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
                meet_group(group);
                #pragma unroll
                for (int i = 0; i < 8; ++i) {
                    const float(&c)[4] = acc[m / 8 + i / 2];
                    int row = i / 2 * 8 + 2 * t + i % 2;
                    *(float2*)&boxes[box][swizzled(row, col)] = {c[i % 2], c[2 + i % 2]};
                }
                asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // the copy sees it
                meet_group(group);
                if (tid == 0) {
                    store_box(boxes[0], map_c, row0 + m, col0 + 64 * group);
                    store_box(boxes[1], map_c, row0 + m, col0 + 64 * group + WIDE);
                    asm volatile("cp.async.bulk.commit_group;");
                }
            }
        } else {
            #pragma unroll
            for (int i = 0; i < BM / 4; ++i) {
                int row = row0 + i / 2 * 8 + 2 * t + i % 2;
                int left = N - (col0 + 64 * group + box * WIDE + col);
                float* to = &C[row * N + N - left];
                if (row < M && left > 0)
                    to[0] = acc[i / 2][i % 2];
                if (row < M && left > 1)
                    to[1] = acc[i / 2][2 + i % 2];
            }
        }
        // ANCHOR_END: epilogue
    }
    if (tid == 0)
        asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    meet();
}
