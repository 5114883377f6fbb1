// Level 23: f64 from bytes.
//
//   C = A * B      A is M x K, B is K x N, C is M x N; row-major, no padding.
//
// Level 22, for numbers of 53 bits. Each row of A, and each column of B, gets a power of two that
// makes its numbers whole, as large as the sums allow. Remainders of MODULI moduli, each a byte,
// say such a number; and a sum of products, too, which the Chinese remainder theorem makes of them:
// the same bits in any order, with an error that does not grow with K: a longer row has a smaller
// scale, and a larger sum. Remainders are multiplied one by one, 14 products; 7 parts of 8 bits
// would be each by each, 49, or 28 without the least. A first kernel writes those of A and B into
// the room. Where a row or column spreads over too many powers of two, its elements of C are sums
// of products in f64.
//
// Given by LEVEL:  BM, BN   tile of C per block, and of a warpgroup, is BM x BN
//                  STAGES   buffers in shared memory
//                  CLUSTER  blocks of a cluster
//                  BLOCKS   blocks of the grid at most: as many as run at a time
//                  MODULI   remainders of a number: one more is 7 bits more of a product. 14 have
//                           smaller errors than long plain sums in f64, 13 would have larger ones
//                  room     memory for scales, and for remainders of A, B and C

#define INPUT_S8
#include "hopper.cuh"
static_assert(MODULI >= 14 && MODULI <= 16, "MODULI must be from 14 to 16: of 54 to 62 bits");
#include "remainders.cuh"

using T = signed char;  // a remainder of an element of A or B

constexpr int BK = 128;   // one step along K: a row of a box has 128 bytes
constexpr int HIGH = BM / 64;  // products of 64 rows, one below the other
constexpr int GROUPS = 2;      // warpgroups that multiply; the last one is the producer
constexpr int PIECES = HIGH * BN / 32;  // of 16 numbers, that a thread has of a tile of C
struct alignas(1024) Stage {
    T a[BM * BK];  // rows of A
    T b[BN * BK];  // columns of B, which lie as rows
};
struct Shared {
    Stage stages[STAGES];
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
static_assert(BM == 64 || BM == 128, "BM must be 64 or 128 rows, of whole products");
static_assert(BN == 64 || BN == 128 || BN == 192, "BN must be 64, 128 or 192 columns of a product");
static_assert(CLUSTER == 1 || CLUSTER == 2, "CLUSTER must be 1 or 2");
static_assert(STAGES >= 2, "STAGES must be at least 2: one is read while the next is filled");
static_assert(sizeof(Shared) <= 227 * 1024, "the stages must fit into 227 KiB of shared memory");

// ANCHOR: split
// A block for LINES rows of A or columns of B.
extern "C" __global__ void __launch_bounds__(CUTTERS, 3)
split(const double* A, const double* B, double* C, void* room, int M, int N, int K) {
    Room r(room, M, N, K);
    int first = blockIdx.x * LINES;
    int of_b = first - r.rows;
    if (of_b < 0)
        cut<true>(A, r.scales, first, M, K,
                  [&](int l, int line, int k) { return r.a(l, first + line, k); });
    else
        cut<false>(B, r.scales + r.rows, of_b, N, K,
                   [&](int l, int line, int k) { return r.b(l, of_b + line, k); });
}
// ANCHOR_END: split

// A place in the ring of stages, and the parity of the phase in which it is filled this time.
struct Ring {
    int at = 0;
    int parity = 0;

    __device__ void skip(int stages) {
        at += stages;
        parity ^= at / STAGES % 2;
        at %= STAGES;
    }
};

extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(THREADS, 1)
gemm_bytes(const double* A, const double* B, double* C, void* room, int M, int N, int K) {
    extern __shared__ __align__(1024) unsigned char raw[];
    Shared& s = *(Shared*)raw;
    Room r(room, M, N, K);
    // ANCHOR: mapping
    int tid = threadIdx.x % 128;    // within the warpgroup
    // Every second tile of the block, or the producer. All lanes ask the first one, so that the
    // compiler knows it for one value of the warp, and all that follows from it.
    int group = __shfl_sync(0xffffffff, threadIdx.x / 128, 0);
    int rank = blockIdx.x % CLUSTER;
    // The clusters go through C band by band, and down each column in a band.
    int across = r.columns / BN;
    int down = r.rows / (BM * CLUSTER);
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
    auto load = [&](int l, int step) {
        Stage& stage = s.stages[ring.at];
        Barrier& full = s.full[ring.at];
        wait(s.empty[ring.at], ring.parity ^ 1);
        arrive_and_expect(full, sizeof(Stage));
        load_bytes(stage.a, r.a(l, row0, step * BK), sizeof stage.a, full);
        int bytes = sizeof stage.b / CLUSTER;  // its part of B, for all
        T* from = r.b(l, col0, step * BK) + rank * bytes;
        load_bytes_for_all(stage.b + rank * bytes, from, bytes, full);
    };
    int tiles = across * down;
    int first = blockIdx.x / CLUSTER;
    if (group == GROUPS) {
        keep_registers<KEPT>();
        for (int l = 0; l < MODULI && tid == 0; ++l)
        for (int tile = first; tile < tiles; tile += stride) {
            go_to(tile);
            for (int step = 0; step < r.steps; ++step, ring.skip(1))
                load(l, step);
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
    bool odd = (tiles - first + stride - 1) / stride % 2;  // its last tile is alone
    ring.skip(group * r.steps);
    // All tiles for one modulus, whose remainders L2 can hold, then for the next; each time the
    // same: so the thread that writes an element's remainders is the one that reads them.
    for (int l = 0; l < MODULI; ++l)
    for (int tile = first + group * stride; tile < tiles; tile += 2 * stride) {
        go_to(tile);
        // Each modulus begins with group 0, so that a tile is always the same threads'.
        bool alone = odd && tile + stride >= tiles;
        bool end = l + 1 == MODULI && tile + stride >= tiles;
        // Up to 192 registers for one modulus: so what is left of it waits in the room, not here.
        int acc[HIGH][BN / 8][4] = {};
        // ANCHOR: mainloop
        if (group == 1 || tile != first || l > 0 && !odd)
            meet<256>(1 + group);  // it is the turn of this warpgroup
        int before = 0;  // the stage of the step before
        for (int step = 0; step < r.steps; ++step, ring.skip(1)) {
            Stage& stage = s.stages[ring.at];
            wait(s.full[ring.at], ring.parity);
            unsigned long long a = descriptor(stage.a, 1024, 16);
            unsigned long long b = descriptor(stage.b, 1024, 16);
            begin_products();
            #pragma unroll
            for (int h = 0; h < HIGH; ++h)  // 64 rows of A are 512 times 16 bytes
                #pragma unroll
                for (int k = 0; k < BK / 32; ++k)  // 32 of K are twice 16 bytes
                    multiply<true>(acc[h], a + h * 512 + k * 2, b + k * 2, step + k);
            commit_products();
            await_products<1>();  // but those: this warpgroup is done with the stage before
            if (step > 0)
                give_back(before);
            before = ring.at;
        }
        ring.skip((group == 0 ? !alone : 1 + (odd && tile + 2 * stride >= tiles)) * r.steps);
        if (!alone && !end)
            pass<256>(1 + (group ^ 1));  // its products follow the last of these
        await_products<0>();
        give_back(before);
        // ANCHOR_END: mainloop
        #pragma unroll
        for (int p = 0; p < PIECES; ++p)
            r.c(l, row0, col0)[p * 128 + tid] =
                remainders(acc[p / (BN / 32)], p % (BN / 32) * 4, MODULUS.each[l]);
        // ANCHOR: epilogue
        #pragma unroll 1
        for (int p = 0; p < PIECES && l + 1 == MODULI; ++p) {
            Fraction fractions[16];
            #pragma unroll 7
            for (int i = 0; i < MODULI; ++i)
                add(fractions, r.c(i, row0, col0)[p * 128 + tid], MODULUS.each[i]);
            int row = row0 + p / (BN / 32) * 64 + tid / 32 * 16;
            int col = col0 + p % (BN / 32) * 32;
            put(fractions, r, A, B, C, row, col, M, N, K);
        }
        // ANCHOR_END: epilogue
    }
    meet_cluster();
}
