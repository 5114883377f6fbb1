// Level 12: asynchronous products of a warpgroup.
//
//   C = A * B      A is M x K, B is K x N, C is M x N; row-major, no padding.
//
// Level 11, but the threads neither copy nor hold what they multiply. One thread asks for whole
// tiles: a tensor map says where a matrix lies, the copy engine (TMA) fetches a box of it, and a
// barrier in shared memory counts the bytes that have come. Four warps, a warpgroup, multiply tiles
// where they lie, by one wgmma instruction that runs on while they go on. Only the sums are in
// registers.
//
// Given by LEVEL:  INPUT_x, OUTPUT_x  types of A and B, and of C
//                  BM, BN             tile of C per block is BM x BN, 64 rows for each warpgroup
//                  STAGES             buffers in shared memory
//                  map_a, map_b       boxes of BM x BK of A and of BK x 64 of B, whose rows of 128
//                                     bytes lie swizzled in shared memory

using T = unsigned short;  // an element of A, B or C: its bits

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
    Stage stages[STAGES];
    Barrier full[STAGES];
};
constexpr int GROUPS = BM / 64;
constexpr int THREADS = GROUPS * 128;
constexpr int BAND = 16;  // rows of tiles that blocks go through together
static_assert(BM % 64 == 0 && BM <= 192,
              "BM must be 64, 128 or 192: 64 rows for each of at most three warpgroups");
static_assert(BN == 64 || BN == 128 || BN == 256,
              "BN must be 64, 128 or 256: so many columns has a product of a warpgroup");
static_assert(BM < 192 || BN < 256, "BM = 192 leaves too few registers for BN = 256");
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
// ANCHOR_END: barriers

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
// Ten registers by number, of which this is the tens digit; and the first 30, 60 and 120.
#define R5(t, a, b, c, d, e) "%" #t #a ", %" #t #b ", %" #t #c ", %" #t #d ", %" #t #e ", "
#define R10(t) R5(t, 0, 1, 2, 3, 4) R5(t, 5, 6, 7, 8, 9)
#define R30 R10() R10(1) R10(2)
#define R60 R30 R10(3) R10(4) R10(5)
#define R120 R60 R10(6) R10(7) R10(8) R10(9) R10(10) R10(11)
// The sums that they are.
#define S4(i) "+f"(c[i][0]), "+f"(c[i][1]), "+f"(c[i][2]), "+f"(c[i][3])
#define S32(i) S4(i), S4(i + 1), S4(i + 2), S4(i + 3), S4(i + 4), S4(i + 5), S4(i + 6), S4(i + 7)
#define WGMMA(columns, sums, a, b, add)                  \
    "{\n.reg .pred add;\nsetp.ne.b32 add, " add ", 0;\n" \
    "wgmma.mma_async.sync.aligned.m64n" columns "k16." TYPES \
    "{" sums "}, " a ", " b ", add, 1, 1, 0, 1;\n}"

// ANCHOR: multiply
// Begins c = a * b, or c += a * b: 64 rows of A, 16 of B, which is transposed on the way.
__device__ void multiply(float (&c)[BN / 8][4], unsigned long long a, unsigned long long b,
                         int add) {
#if BN == 256
    asm volatile(WGMMA("256", R120 "%120, %121, %122, %123, %124, %125, %126, %127",
                       "%128", "%129", "%130")
                 : S32(0), S32(8), S32(16), S32(24) : "l"(a), "l"(b), "r"(add));
#elif BN == 128
    asm volatile(WGMMA("128", R60 "%60, %61, %62, %63", "%64", "%65", "%66")
                 : S32(0), S32(8) : "l"(a), "l"(b), "r"(add));
#else
    asm volatile(WGMMA("64", R30 "%30, %31", "%32", "%33", "%34")
                 : S32(0) : "l"(a), "l"(b), "r"(add));
#endif
}
// ANCHOR_END: multiply

// Two neighbours of a row of C, of which `left` are inside the matrix.
__device__ void store(T* to, float x, float y, int left, bool paired) {
    unsigned pair;
#if defined(OUTPUT_BF16)
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(y), "f"(x));
#else
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(y), "f"(x));
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

extern "C" __global__ void __launch_bounds__(THREADS)
gemm_warpgroup(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,
               T* C, int M, int N, int K) {
    extern __shared__ __align__(1024) unsigned char raw[];
    Shared& s = *(Shared*)raw;
    // ANCHOR: mapping
    int tid = threadIdx.x % 128;    // within the warpgroup
    int group = threadIdx.x / 128;  // 64 rows of the tile
    // The blocks go through C band by band, and down each column of tiles in a band.
    int across = (N + BN - 1) / BN;
    int down = (M + BM - 1) / BM;
    int band = blockIdx.x / (BAND * across) * BAND;
    int at = blockIdx.x % (BAND * across);
    int height = min(BAND, down - band);
    int row0 = (band + at % height) * BM;  // the tile's corner in C
    int col0 = at / height * BN;
    int steps = (K + BK - 1) / BK;
    // ANCHOR_END: mapping
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; ++i)
            init(s.full[i], 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();  // the barriers are ready
    Ring ring;
    // ANCHOR: load
    // Asks for the tiles of a step, which need not be there when this returns.
    auto load = [&](int at, int step) {
        Stage& stage = s.stages[at];
        Barrier& full = s.full[at];
        if (threadIdx.x > 0)
            return;
        arrive_and_expect(full, sizeof(Stage));
        load_box(stage.a, map_a, row0, step * BK, full);
        for (int n = 0; n < BN; n += 64)
            load_box(stage.b + n * BK, map_b, step * BK, col0 + n, full);
    };
    // ANCHOR_END: load
    // ANCHOR: mainloop
    for (int i = 0; i < min(STAGES, steps); ++i)
        load(i, i);
    float acc[BN / 8][4];
    for (int step = 0; step < steps; ++step, ring.next()) {
        Stage& stage = s.stages[ring.at];
        wait(s.full[ring.at], ring.parity);
        unsigned long long a = descriptor(stage.a + group * 64 * BK, 1024, 16);
        unsigned long long b = descriptor(stage.b, 1024, 64 * BK * sizeof(T));
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        #pragma unroll
        for (int k = 0; k < BK / 16; ++k)  // 16 columns of A, or 16 rows of B, in units of 16 bytes
            multiply(acc, a + k * 2, b + k * 128, step + k);
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");  // the products are made
        __syncthreads();  // everyone's: the stage may be filled anew
        if (step + STAGES < steps)
            load(ring.at, step + STAGES);
    }
    // ANCHOR_END: mainloop
    // ANCHOR: epilogue
    #pragma unroll
    for (int n = 0; n < BN / 8; ++n)
        #pragma unroll
        for (int half = 0; half < 2; ++half) {
            int row = row0 + 64 * group + 16 * (tid / 32) + 8 * half + tid % 32 / 4;
            int col = col0 + 8 * n + tid % 4 * 2;
            if (row < M)
                store(&C[row * N + col], acc[n][2 * half], acc[n][2 * half + 1], N - col,
                      N % 2 == 0);
        }
    // ANCHOR_END: epilogue
}
