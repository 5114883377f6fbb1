// wgmma_fp8: fp8, with sums promoted to f32.
//
//   C = alpha * A * B + beta * C      A is M x K, B is K x N, or stored as N x K; C is M x N
//
// Level 14, for elements of a byte, of which wgmma keeps sums of 14 bits. So every 128 of K each
// thread adds them to sums of its own, and the next products begin at 0: meanwhile the other
// warpgroup multiplies. Both operands must lie along K in shared memory. B does if it is stored as
// N x K; if not, three warps of the producer transpose each stage where it lies.
//
// Given by KERNEL: INPUT_x, OUTPUT_x  types of A and B, and of C
//                  BM, BN             tile of C per block is BM x BN, 64 rows for each warpgroup
//                                     that multiplies
//                  STAGES             buffers in shared memory
//                  CLUSTER            blocks of a cluster
//                  BLOCKS             blocks of the grid at most: as many as run at a time
//                  PROMOTED           1 if sums are promoted; 0 if wgmma makes them, along all of K
//                  TRANSPOSED         1 if B is stored as N x K
//                  ADDED              1 if beta is not 0
//                  map_a              boxes of BM x 128 of A, whose rows of 128 bytes lie swizzled
//                  map_b              of 128 x 128 of B, or of BN / CLUSTER x 128 of the stored one
//                  map_c              of 64 rows of 128 bytes of C
//                  mapped             bits 0 to 2: whether map_a, map_b and map_c describe A, B, C

#include "hopper.cuh"

using T = unsigned char;  // an element of A or B: its bits
#if defined(OUTPUT_F32)
using Out = float;
#else
using Out = unsigned short;
#endif

constexpr int BK = 128;  // one step along K: a row of a box has 128 bytes
// Blocks that fetch B for each other. What a block transposes, it fetches for itself: the others
// could not know when its threads have left a stage, but by a fence of all memories.
constexpr int SHARERS = TRANSPOSED ? CLUSTER : 1;
constexpr int WIDE = 128 / sizeof(Out);  // columns of a box of C
// Columns of a product of a warpgroup: of 256, no thread could hold its sums twice.
constexpr int WIDTH = PROMOTED && BN == 256 ? 128 : BN;
struct alignas(1024) Stage {
    T a[BM * BK];  // rows of A
    T b[BN * BK];  // rows of the stored B; or boxes of 128 columns until they are transposed
};
struct Shared {
    Stage stages[STAGES];
    Out c[BM / 64][2][64 * WIDE];  // boxes of C on their way, two of each warpgroup
    Barrier landed[STAGES];  // B is here, and is to be transposed
    Barrier full[STAGES];
    Barrier empty[STAGES];
};
constexpr int GROUPS = BM / 64;  // warpgroups that multiply; the last one is the producer
constexpr int THREADS = (GROUPS + 1) * 128;
// Registers of a thread: what all are launched with, what the producer keeps, what the others get.
constexpr int LAUNCHED = 65536 / THREADS / 8 * 8;
constexpr int KEPT = PROMOTED && TRANSPOSED ? 72 : 88;
constexpr int SHARE = (LAUNCHED * (GROUPS + 1) - KEPT) / GROUPS / 8 * 8;
constexpr int GOT = SHARE < 240 ? SHARE : 240;
constexpr int BAND = 16 / CLUSTER;  // rows of tiles that clusters go through together
static_assert(BM % 64 == 0 && BM <= 192,
              "BM must be 64, 128 or 192: 64 rows for each of at most three warpgroups");
static_assert(BN == 128 || BN == 256, "BN must be 128 or 256: the columns of one product or two");
static_assert(BM < 192 || BN < 256, "BM = 192 leaves too few registers for BN = 256");
static_assert(BN % (8 * CLUSTER) == 0, "CLUSTER must divide BN / 8: 8 rows are swizzled together");
static_assert(STAGES >= 2, "STAGES must be at least 2: one is read while the next is filled");
static_assert(sizeof(Shared) <= 227 * 1024, "the stages must fit into 227 KiB of shared memory");

// All threads of the cluster wait for each other; what the barriers hold is all that they share.
__device__ void meet() {
    if (CLUSTER > 1)
        meet_cluster();
    else
        __syncthreads();
}

// The same for matrices that no map describes: 128 columns of some rows, by the producer's threads;
// or, ACROSS, of columns as rows.
template <int ROWS, bool ACROSS>
__device__ void copy_box(T* to, const T* from, int row, int col, int rows, int cols, int ld) {
    int tid = threadIdx.x % 128;
    long long pitch = ld;
    #pragma unroll 4
    for (int i = tid; i < ROWS * 32; i += 128) {
        int r = ACROSS ? i % ROWS : i / 32;
        int c = ACROSS ? i / ROWS * 4 : i % 32 * 4;
        unsigned four = 0;
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            long long at = ACROSS ? (col + c + j) * pitch + row + r
                                  : (row + r) * pitch + col + c + j;
            if (row + r < rows && col + c + j < cols)
                four |= (unsigned)from[at] << 8 * j;
        }
        *(unsigned*)(to + swizzled(r, c)) = four;
    }
}

// ANCHOR: transpose
// Transposes 128 x 128 bytes where they lie, as 8 x 8 squares of 16 x 16. A warp takes four pairs
// of squares at a time, of those so far from the diagonal; a pair changes places, but for the first
// four, which lie on it. Eight turns are all.
__device__ void transpose_box(T* box, int turn, int lane) {
    int apart = (turn + 1) / 2;
    bool second = lane / 16;  // the lanes give rows of four matrices: two of each square
    int row = lane % 8;
    // Of 16 rows of B, one matrix has the first two of each four, and the other one the rest: then
    // a thread holds four neighbours along K, of two columns. But the last four rows of each matrix
    // are the other one's, here and where they go: so eight rows lie in all banks.
    int half = lane / 8 % 2 ^ row / 4;
    unsigned order = (lane < 16 ? 0x6420 : 0x7531) ^ (lane % 4 < 2 ? 0 : 0x4444);
    unsigned to[4];
    unsigned x[4][4];
    #pragma unroll
    for (int pair = 0; pair < 4; ++pair) {
        int i = (turn + 1) % 2 * 4 + pair;
        int j = (i + apart) % 8;
        int k = second ? (apart ? j : i ^ 4) : i;
        int n = second ? (apart ? i : i ^ 4) : j;
        int from = swizzled(16 * k + row / 2 * 4 + row % 2 + 2 * half, 16 * n);
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(x[pair][0]), "=r"(x[pair][1]), "=r"(x[pair][2]), "=r"(x[pair][3])
                     : "r"(shared(box + from)) : "memory");
        to[pair] = shared(box + swizzled(16 * n + 2 * row + half, 16 * k));
    }
    __syncwarp();  // all rows have been read
    #pragma unroll
    for (int pair = 0; pair < 4; ++pair) {
        const unsigned(&r)[4] = x[pair];
        asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                     ::"r"(to[pair]), "r"(__byte_perm(r[0], r[1], order)),
                       "r"(__byte_perm(r[0], r[1], order ^ 0x1111)),
                       "r"(__byte_perm(r[2], r[3], order)),
                       "r"(__byte_perm(r[2], r[3], order ^ 0x1111)) : "memory");
    }
}
// ANCHOR_END: transpose

// Two neighbours of a row of C.
struct alignas(2 * sizeof(Out)) Pair {
    Out x, y;
};

__device__ Pair pair(float x, float y) {
    Pair pair;
#if defined(OUTPUT_BF16)
    *(unsigned*)&pair = as_bf16x2(x, y);
#else
    pair = {x, y};
#endif
    return pair;
}

__device__ float number(Out x) {
#if defined(OUTPUT_BF16)
    return __uint_as_float((unsigned)x << 16);
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
                     ::"r"(shared(box) + swizzled(16 * warp + lane % 16, 16 * n + lane / 16 * 16)),
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
gemm_fp8(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,
         const __grid_constant__ TensorMap map_c, int mapped, const T* A, const T* B, Out* C,
         int M, int N, int K, int lda, int ldb, int ldc, float alpha, float beta) {
    extern __shared__ __align__(1024) unsigned char raw[];
    Shared& s = *(Shared*)raw;
    // ANCHOR: mapping
    int tid = threadIdx.x % 128;    // within the warpgroup
    // 64 rows of the tile, or the producer. All lanes ask the first one, so that the compiler knows
    // it for one value of the warp, and so the descriptors.
    int group = __shfl_sync(0xffffffff, threadIdx.x / 128, 0);
    int rank = blockIdx.x % CLUSTER;
    // A cluster has tiles in CLUSTER rows. Clusters go through C band by band, and down each column
    // in a band; each takes every so many tiles.
    int across = (N - 1) / BN + 1;
    int down = (M - 1) / (BM * CLUSTER) + 1;
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
            init(s.landed[i], 1);
            init(s.full[i], !by_maps ? 128 : TRANSPOSED ? 1 : 1 + 96);
            init(s.empty[i], GROUPS * SHARERS);
        }
        show_barriers();
    }
    meet();  // the barriers are ready, in every block of the cluster
    Ring ring;
    // ANCHOR: producer
    if (group == GROUPS) {
        keep_registers<KEPT>();
        bool fetches = !by_maps || tid == 0;
        bool transposes = by_maps && !TRANSPOSED && tid >= 32;
        int end = fetches || transposes ? across * down : 0;
        for (int tile = first; tile < end; tile += stride) {
            go_to(tile);
            for (int step = 0; step < steps; ++step, ring.next()) {
                Stage& stage = s.stages[ring.at];
                Barrier& full = s.full[ring.at];
                int k = step * BK;
                if (transposes) {
                    wait(s.landed[ring.at], ring.parity);
                    for (int turn = tid / 32 - 1; turn < BN / 128 * 8; turn += 3)
                        transpose_box(stage.b + turn / 8 * 128 * BK, turn % 8, tid % 32);
                    show_writes();  // wgmma sees it
                    arrive(full);
                    continue;
                }
                wait(s.empty[ring.at], ring.parity ^ 1);  // at first, each stage is empty
                if (by_maps && TRANSPOSED) {
                    arrive_and_expect(full, sizeof(Stage));
                    load_box(stage.a, map_a, row0, k, full);
                    int n = rank * (BN / CLUSTER);
                    load_box_for_all<SHARERS>(stage.b + n * BK, map_b, col0 + n, k, full);
                } else if (by_maps) {
                    arrive_and_expect(full, sizeof(stage.a));
                    load_box(stage.a, map_a, row0, k, full);
                    arrive_and_expect(s.landed[ring.at], sizeof(stage.b));
                    for (int n = 0; n < BN; n += 128)
                        load_box(stage.b + n * BK, map_b, k, col0 + n, s.landed[ring.at]);
                } else {
                    copy_box<BM, false>(stage.a, A, row0, k, M, K, lda);
                    copy_box<BN, !TRANSPOSED>(stage.b, B, col0, k, N, K, ldb);
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
            if (tid < SHARERS)
                arrive_at(s.empty[at], TRANSPOSED ? tid : rank);
        };
        #pragma unroll
        for (int i = 0; PROMOTED && i < BN / 2; ++i)
            acc[i / 4][i % 4] = 0;
        int before = 0;  // the stage of the step before
        for (int step = 0; step < steps; ++step, ring.next()) {
            Stage& stage = s.stages[ring.at];
            unsigned long long a = descriptor(stage.a + group * 64 * BK, 1024, 16);
            wait(s.full[ring.at], ring.parity);
            #pragma unroll
            for (int n = 0; n < BN; n += WIDTH) {
                float sums[WIDTH / 8][4];
                auto& c = PROMOTED ? sums : (float(&)[WIDTH / 8][4])acc[n / 8];
                unsigned long long b = descriptor(stage.b + n * BK, 1024, 16);
                begin_products();
                #pragma unroll
                for (int k = 0; k < BK / 32; ++k)  // 32 columns, in 32 bytes
                    multiply<true>(c, a + k * 2, b + k * 2, PROMOTED ? k : step + k);
                commit_products();
                if (!PROMOTED)
                    continue;
                await_products<0>();
                if (n + WIDTH == BN)
                    give_back(ring.at);
                #pragma unroll
                for (int i = 0; i < WIDTH / 2; ++i) {
                    asm volatile("" : "+f"(sums[i / 4][i % 4]));  // not before the wait
                    acc[n / 8 + i / 4][i % 4] += sums[i / 4][i % 4];
                }
            }
            if (PROMOTED)
                continue;
            // All products but those have been made: this warpgroup is done with the stage before.
            await_products<1>();
            if (step > 0)
                give_back(before);
            before = ring.at;
        }
        if (!PROMOTED) {
            await_products<0>();
            give_back(before);
        }
        // ANCHOR_END: mainloop
        // ANCHOR: epilogue
        #pragma unroll
        for (int i = 0; i < BN / 2; ++i)
            acc[i / 4][i % 4] *= alpha;
        #pragma unroll
        for (int i = 0; i < BN / 2 && (ADDED || !(mapped & 4)); ++i) {
            int row = row0 + 64 * group + 16 * warp + i / 2 % 2 * 8 + lane / 4;
            int col = col0 + i / 4 * 8 + lane % 4 * 2 + i % 2;
            float& x = acc[i / 4][i % 4];
            Out* to = &C[row * (long long)ldc + col];
            if (ADDED && row < M && col < N)
                x += beta * number(*to);
            if (!(mapped & 4) && row < M && col < N)
                *to = pair(x, x).x;
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
