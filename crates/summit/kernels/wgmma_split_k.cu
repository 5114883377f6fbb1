// wgmma_split_k: split-K in a cluster.
//
//   C = A * B      A is M x K, B is K x N, C is M x N; row-major, no padding.
//
// Level 13, for few tiles and deep sums: the blocks of a cluster share a tile of C, and each
// multiplies its part of K. Then each adds up some columns of all sums, which it reads where the
// others have them, in their shared memory, always in the same order; nothing of it goes through
// global memory, and no flag is needed.
//
// Given by KERNEL: INPUT_x, OUTPUT_x  types of A and B, and of C
//                  BM, BN             tile of C per cluster is BM x BN, 64 rows for each warpgroup
//                                     that multiplies
//                  STAGES             buffers in shared memory
//                  PARTS              blocks of a cluster: parts of K
//                  map_a, map_b       boxes of BM x BK of A and of BK x 64 of B, whose rows of 128
//                                     bytes lie swizzled in shared memory
//                  mapped             bits 0 and 1: whether map_a and map_b describe A and B

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
struct alignas(1024) Stage {
    T a[BM * BK];  // rows of A
    T b[BK * BN];  // boxes of 64 columns of B, one after the other
};
struct Shared {
    union {
        Stage stages[STAGES];
        float4 sums[BN / 8][BM * 2];  // afterwards: those of a thread, one after the other
    };
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
constexpr int BAND = 16;  // rows of tiles that blocks go through together
static_assert(BM % 64 == 0 && BM <= 192,
              "BM must be 64, 128 or 192: 64 rows for each of at most three warpgroups");
static_assert(BN == 64 || BN == 128 || BN == 256,
              "BN must be 64, 128 or 256: so many columns has a product of a warpgroup");
static_assert(BM < 192 || BN < 256, "BM = 192 leaves too few registers for BN = 256");
static_assert(PARTS >= 1 && PARTS <= 8 && BN / 8 % PARTS == 0,
              "PARTS must be 1, 2, 4 or 8: the blocks of a cluster share the columns of a tile");
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

// All threads of the cluster wait for each other, and see what all have written.
__device__ void meet() {
    asm volatile("barrier.cluster.arrive;\nbarrier.cluster.wait;" ::: "memory");
}

// Reads what another block of the cluster has in this place.
__device__ float4 read_from(const float4& there, int rank) {
    float4 v;
    asm volatile("{\n"
                 ".reg .b32 there;\n"
                 "mapa.shared::cluster.u32 there, %4, %5;\n"
                 "ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [there];\n"
                 "}" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                 : "r"(shared(&there)), "r"(rank) : "memory");
    return v;
}
// ANCHOR_END: barriers

// Where an element of a box lies: of the 16-byte chunks of 8 rows, each row has its own order.
__device__ int swizzled(int row, int col) {
    return row * 64 + ((col / 8 ^ row % 8) * 8 + col % 8);
}

// The same for matrices that no map describes: 64 columns of some rows, by the producer's threads.
template <int ROWS>
__device__ void copy_box(T* to, const T* from, int row, int col, int rows, int cols) {
    int c = threadIdx.x % 64;
    int r = threadIdx.x % 128 / 64;
    from += (row + r) * cols + col + c;
    #pragma unroll 8
    for (; r < ROWS; r += 2, from += 2 * cols)
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

// Begins c = a * b, or c += a * b: 64 rows of A, 16 of B, which is transposed on the way.
__device__ void multiply(float (&c)[BN / 8][4], unsigned long long a, unsigned long long b,
                         int add) {
#if BN == 256
    asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %130, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n256k16." TYPES
                 "{" R128 "}, %128, %129, add, 1, 1, 0, 1;\n}"
                 : S32(0), S32(8), S32(16), S32(24) : "l"(a), "l"(b), "r"(add));
#elif BN == 128
    asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %66, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128k16." TYPES
                 "{" R64 "}, %64, %65, add, 1, 1, 0, 1;\n}"
                 : S32(0), S32(8) : "l"(a), "l"(b), "r"(add));
#else
    asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %34, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16." TYPES
                 "{" R32 "}, %32, %33, add, 1, 1, 0, 1;\n}"
                 : S32(0) : "l"(a), "l"(b), "r"(add));
#endif
}

// Two neighbours of a row of C, of which `left` are inside the matrix.
__device__ void store(Out* to, float x, float y, int left, bool paired) {
    struct alignas(2 * sizeof(Out)) Pair {
        Out x, y;
    } pair;
#if defined(OUTPUT_BF16)
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(*(unsigned*)&pair) : "f"(y), "f"(x));
#elif defined(OUTPUT_F16)
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(*(unsigned*)&pair) : "f"(y), "f"(x));
#else
    pair = {x, y};
#endif
    if (paired && left > 0)
        *(Pair*)to = pair;
    if (!paired && left > 0)
        to[0] = pair.x;
    if (!paired && left > 1)
        to[1] = pair.y;
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

extern "C" __global__ void __cluster_dims__(PARTS, 1, 1) __launch_bounds__(THREADS, 1)
gemm_cluster_split(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,
                   int mapped, const T* A, const T* B, Out* C, int M, int N, int K) {
    extern __shared__ __align__(1024) unsigned char raw[];
    Shared& s = *(Shared*)raw;
    // ANCHOR: mapping
    int tid = threadIdx.x % 128;    // within the warpgroup
    int group = threadIdx.x / 128;  // 64 rows of the tile; or the producer
    int part = blockIdx.x % PARTS;
    int tile = blockIdx.x / PARTS;
    // The clusters go through C band by band, and down each column of tiles in a band.
    int across = (N + BN - 1) / BN;
    int down = (M + BM - 1) / BM;
    int band = tile / (BAND * across) * BAND;
    int at = tile % (BAND * across);
    int height = min(BAND, down - band);
    int row0 = (band + at % height) * BM;  // the tile's corner in C
    int col0 = at / height * BN;
    int all = (K + BK - 1) / BK;  // steps, of which this block has an equal share
    int begin = all * part / PARTS;
    int end = all * (part + 1) / PARTS;
    // ANCHOR_END: mapping
    bool by_maps = (mapped & 3) == 3;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; ++i) {
            init(s.full[i], by_maps ? 1 : 128);
            init(s.empty[i], GROUPS);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();  // the barriers are ready; from here on, nobody waits for all
    Ring ring;
    // ANCHOR: producer
    if (group == GROUPS) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(KEPT));
        bool idle = by_maps && tid > 0;
        for (int step = begin; step < end && !idle; ++step, ring.next()) {
            Stage& stage = s.stages[ring.at];
            Barrier& full = s.full[ring.at];
            wait(s.empty[ring.at], ring.parity ^ 1);  // at first, each stage is empty
            if (by_maps) {
                arrive_and_expect(full, sizeof(Stage));
                load_box(stage.a, map_a, row0, step * BK, full);
                for (int n = 0; n < BN; n += 64)
                    load_box(stage.b + n * BK, map_b, step * BK, col0 + n, full);
            } else {
                copy_box<BM>(stage.a, A, row0, step * BK, M, K);
                for (int n = 0; n < BN; n += 64)
                    copy_box<BK>(stage.b + n * BK, B, step * BK, col0 + n, K, N);
                asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // wgmma sees it
                arrive(full);
            }
        }
        meet();
        meet();
        return;
    }
    // ANCHOR_END: producer
    // ANCHOR: mainloop
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(GOT));
    float acc[BN / 8][4] = {};
    int before = 0;  // the stage of the step before
    for (int step = begin; step < end; ++step, ring.next()) {
        Stage& stage = s.stages[ring.at];
        wait(s.full[ring.at], ring.parity);
        unsigned long long a = descriptor(stage.a + group * 64 * BK, 1024, 16);
        unsigned long long b = descriptor(stage.b, 1024, 64 * BK * sizeof(T));
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        #pragma unroll
        for (int k = 0; k < BK / 16; ++k)  // 16 columns of A, or 16 rows of B, in units of 16 bytes
            multiply(acc, a + k * 2, b + k * 128, 1);
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        // All products but those have been made: this warpgroup is done with the stage before.
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
        if (step > begin && tid == 0)
            arrive(s.empty[before]);
        before = ring.at;
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    // ANCHOR_END: mainloop
    // ANCHOR: epilogue
    // No copy is under way, and no product: the stages' room is free.
    asm volatile("bar.sync 1, %0;" ::"n"(GROUPS * 128) : "memory");
    int thread = threadIdx.x;
    #pragma unroll
    for (int n = 0; n < BN / 8; ++n)
        s.sums[n][thread] = {acc[n][0], acc[n][1], acc[n][2], acc[n][3]};
    meet();  // everyone's sums are there
    constexpr int SHARE = BN / 8 / PARTS;
    #pragma unroll 4
    for (int n = part * SHARE; n < (part + 1) * SHARE; ++n) {
        float4 sum = read_from(s.sums[n][thread], 0);
        #pragma unroll
        for (int rank = 1; rank < PARTS; ++rank) {
            float4 more = read_from(s.sums[n][thread], rank);
            sum = {sum.x + more.x, sum.y + more.y, sum.z + more.z, sum.w + more.w};
        }
        int row = row0 + 64 * group + 16 * (tid / 32) + tid % 32 / 4;
        int col = col0 + 8 * n + tid % 4 * 2;
        if (row < M)
            store(&C[row * N + col], sum.x, sum.y, N - col, N % 2 == 0);
        if (row + 8 < M)
            store(&C[(row + 8) * N + col], sum.z, sum.w, N - col, N % 2 == 0);
    }
    meet();  // nobody leaves while others read its sums
    // ANCHOR_END: epilogue
}
