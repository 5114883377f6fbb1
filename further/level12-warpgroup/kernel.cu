// Level 12: asynchronous products of a warpgroup.
//
//   C = A * B      A is M x K, B is K x N, C is M x N; row-major, no padding.
//
// Level 1's loop: tiles come, the block multiplies them, and they may be overwritten. But the
// threads neither copy nor hold what they multiply. One thread asks for whole tiles, STAGES steps
// ahead: a tensor map says where a matrix lies, the copy engine (TMA) fetches a box of it, and a
// barrier in shared memory counts the bytes that have come. Four warps, a warpgroup, multiply tiles
// where they lie, by one wgmma instruction that runs on while they go on. Only the sums are in
// registers: an mma.sync reads 10 and writes 4 in the 4 clocks that it should take: that keeps them
// nearly as busy as FMAs do. Each of these instructions is a function of hopper.cuh.
//
// Given by LEVEL:  INPUT_x, OUTPUT_x  types of A and B, and of C
//                  BM, BN             tile of C per block is BM x BN, 64 rows for each warpgroup
//                  STAGES             buffers in shared memory
//                  map_a, map_b       boxes of BM x BK of A and of BK x 64 of B, whose rows of 128
//                                     bytes lie swizzled: 8 of them use all banks. A matrix
//                                     whose rows are no whole 16 bytes comes as a wider copy

#include "hopper.cuh"

using T = unsigned short;  // an element of A, B or C: its bits

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
static_assert(STAGES >= 2, "STAGES must be at least 2: one is read while the next is filled");
static_assert(sizeof(Shared) <= 227 * 1024, "the stages must fit into 227 KiB of shared memory");

// Two neighbours of a row of C, of which `left` are inside the matrix.
__device__ void store(T* to, float x, float y, int left, bool paired) {
#if defined(OUTPUT_BF16)
    unsigned pair = as_bf16x2(x, y);
#else
    unsigned pair = as_f16x2(x, y);
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
    // The blocks go through C band by band, and down each column of tiles in a band: L2 keeps what
    // blocks of the same time read.
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
        show_barriers();
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
        // From 8 rows to the next are 1,024 bytes. A lies along K, in one box: its 16 is ignored. A
        // step along K begins within its rows: what swizzles an address does it after the addition.
        unsigned long long a = descriptor(stage.a + group * 64 * BK, 1024, 16);
        unsigned long long b = descriptor(stage.b, 1024, 64 * BK * sizeof(T));
        begin_products();
        #pragma unroll
        for (int k = 0; k < BK / 16; ++k)  // 16 columns of A, or 16 rows of B, in units of 16 bytes
            multiply<false>(acc, a + k * 2, b + k * 128, step + k);
        commit_products();
        await_products<0>();  // the products are made
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
            int col = col0 + 8 * n + tid % 4 * 2;  // lane 4 * g + t: 2 * t and 2 * t + 1 of row g
            if (row < M)
                store(&C[row * N + col], acc[n][2 * half], acc[n][2 * half + 1], N - col,
                      N % 2 == 0);
        }
    // ANCHOR_END: epilogue
}
