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

// Products of a batch. Their matrices lie so many elements apart; 0, if all share one.
struct Batch {
    long long a;
    long long b;
    long long d;
    int count;
};

// Sums may get factors and a bias, go through an activation, and meet an element of C.
struct Epilogue {
    const Out* c;
    const Out* bias;       // a number for each column; or for each row, as `bias_of_rows` says
    const float* rows;     // a factor of each row; or none
    const float* columns;  // of each column
    long long apart;       // elements from a product's C to the next one's
    int ldc;
    int bias_of_rows;
    int multiplied;        // 1 if C is a factor, and no summand
    int activation;
    float u[3];            // of an activation x / (1 + 2^(x * (u0 + u1 * x^2 + u2 * x^4)))
};
enum { RELU = 1, SIGMOID, ERF };  // the last of an f32 C: GELU, for which three u are too few

// All threads of the cluster wait for each other; what the barriers hold is all that they share.
__device__ void meet() {
    if (CLUSTER > 1)
        meet_cluster();
    else
        __syncthreads();
}

// Boxes as in the header, of a product's matrix in a batch.
__device__ void load_box(void* to, const TensorMap& map, int row, int col, int z, Barrier& full) {
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier"
                 "::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];"
                 ::"r"(shared(to)), "l"(&map), "r"(col), "r"(row), "r"(z), "r"(shared(&full))
                 : "memory");
}

__device__ void load_box_for_all(void* to, const TensorMap& map, int row, int col, int z,
                                 Barrier& full) {
    if (CLUSTER == 1)
        return load_box(to, map, row, col, z, full);
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier"
                 "::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3, %4}], [%5], %6;"
                 ::"r"(shared(to)), "l"(&map), "r"(col), "r"(row), "r"(z), "r"(shared(&full)),
                   "h"((unsigned short)((1 << CLUSTER) - 1))
                 : "memory");
}

__device__ void store_box(const void* from, const TensorMap& map, int row, int col, int z) {
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group"
                 " [%0, {%1, %2, %3}], [%4];"
                 ::"l"(&map), "r"(col), "r"(row), "r"(z), "r"(shared(from)) : "memory");
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

__device__ float exp2_fast(float x) {
    asm("ex2.approx.ftz.f32 %0, %0;" : "+f"(x));
    return x;
}

__device__ float reciprocal(float x) {
    asm("rcp.approx.ftz.f32 %0, %0;" : "+f"(x));
    return x;
}

// 1 + 2^(x * (u0 + u1 * x^2 + u2 * x^4)), at most 1 + 2^60: of two, the product has a reciprocal.
// Beyond |x| = 6 the polynomial stays as it is there.
__device__ float divisor(float x, const float (&u)[3]) {
    float square = fminf(x * x, 36);
    return 1 + exp2_fast(fminf(x * (u[0] + square * (u[1] + square * u[2])), 60));
}

// Of all sums of a thread.
__device__ void activate(float (&sums)[BN / 2], const Epilogue& epilogue) {
    if (epilogue.activation == RELU) {
        #pragma unroll
        for (int i = 0; i < BN / 2; ++i)
            sums[i] = sums[i] < 0 ? 0 : sums[i];
    }
    if (epilogue.activation == SIGMOID) {
        #pragma unroll
        for (int i = 0; i < BN / 2; i += 2) {  // two divisions by one reciprocal
            float x = divisor(sums[i], epilogue.u);
            float y = divisor(sums[i + 1], epilogue.u);
            float r = reciprocal(x * y);
            sums[i] *= r * y;
            sums[i + 1] *= r * x;
        }
    }
#if defined(OUTPUT_F32)
    if (epilogue.activation == ERF) {
        #pragma unroll
        for (int i = 0; i < BN / 2; ++i)
            sums[i] *= 0.5f + 0.5f * erff(sums[i] * 0.70710678f);
    }
#endif
}

// A thread's elements of C in 64 columns, all asked for at once, as far as they are there: so many
// columns, in the row `down` from here if `low`. If all are, as pairs, they are `whole`.
__device__ void read(Pair (&c)[16], const Out* from, long long down, int columns, bool low,
                     bool whole) {
    #pragma unroll
    for (int i = 0; i < 16; ++i, from += i % 2 ? down : 8 - down) {
        int there = i % 2 && !low ? 0 : columns - i / 2 * 8;
        if (whole)
            c[i] = *(const Pair*)from;
        else
            c[i] = {there > 0 ? from[0] : (Out)0, there > 1 ? from[1] : (Out)0};
    }
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

extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(THREADS, 1)
gemm_clusters(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,
              const __grid_constant__ TensorMap map_c, int mapped, const T* A, const T* B, Out* D,
              int M, int N, int K, int lda, int ldb, int ldd, float alpha, float beta,
              const __grid_constant__ Batch batch, const __grid_constant__ Epilogue epilogue) {
    extern __shared__ __align__(1024) unsigned char raw[];
    Shared& s = *(Shared*)raw;
    // ANCHOR: mapping
    int tid = threadIdx.x % 128;    // within the warpgroup
    int group = threadIdx.x / 128;  // 64 rows of the tile; or the producer
    int rank = blockIdx.x % CLUSTER;
    // A cluster has tiles in CLUSTER rows. Clusters go through C band by band, and down each column
    // in a band; each takes every so many tiles.
    int across = (N - 1) / BN + 1;
    int down = (M - 1) / (BM * CLUSTER) + 1;
    int tiles = across * down * batch.count;
    int first = blockIdx.x / CLUSTER;
    int stride = gridDim.x / CLUSTER;
    int product;  // of the batch
    int row0;     // the tile's corner in D
    int col0;
    auto go_to = [&](int tile) {
        product = tile / (across * down);
        tile %= across * down;
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
        for (int tile = first; tile < tiles && !idle; tile += stride) {
            go_to(tile);
            int z_a = batch.a ? product : 0;
            int z_b = batch.b ? product : 0;
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
                        load_box_for_all(stage.b + at, map_b, col0 + rank * PART, k, z_b, full);
                    for (; !TRANSPOSED && at < (rank + 1) * PART * BK; at += 64 * DEEP)
                        load_box_for_all(stage.b + at, map_b, k + at / 64 % BK,
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
    int lane = tid % 32;
    int warp = tid / 32;
    int buffer = 0;
    float acc[BN / 8][4];
    for (int tile = first; tile < tiles; tile += stride) {
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
        float scale[2] = {alpha, alpha};  // of this thread's two rows
        float bias[2] = {0, 0};
        #pragma unroll
        for (int half = 0; half < 2; ++half) {
            int row = min(top + 8 * half, M - 1);
            if (epilogue.rows)
                scale[half] *= epilogue.rows[row];
            if (epilogue.bias && epilogue.bias_of_rows)
                bias[half] = number(epilogue.bias[row]);
        }
        // Sum i is in row i / 2 % 2 of the two, and in this column.
        auto column = [&](int i) { return min(left + 8 * (i / 4) + i % 2, N - 1); };
        float (&sums)[BN / 2] = *(float (*)[BN / 2])acc;
        if (epilogue.columns) {
            #pragma unroll
            for (int i = 0; i < BN / 2; ++i)
                sums[i] *= epilogue.columns[column(i)];
        }
        #pragma unroll
        for (int i = 0; i < BN / 2; ++i)
            sums[i] = sums[i] * scale[i / 2 % 2] + bias[i / 2 % 2];
        if (epilogue.bias && !epilogue.bias_of_rows) {
            #pragma unroll
            for (int i = 0; i < BN / 2; ++i)
                sums[i] += number(epilogue.bias[column(i)]);
        }
        activate(sums, epilogue);
#if ADDED
        long long ldc = epilogue.ldc;
        const Out* c = epilogue.c + product * epilogue.apart + top * ldc + left;
        bool whole = row0 + BM <= M && col0 + BN <= N && (ldc | epilogue.apart) % 2 == 0 &&
                     (unsigned long long)epilogue.c % sizeof(Pair) == 0;
        #pragma unroll
        for (int n = 0; n < BN; n += 64) {
            Pair pairs[16];
            if (whole)
                read(pairs, c + n, 8 * ldc, 64, true, true);
            else
                read(pairs, c + n, 8 * ldc, top < M ? N - left - n : 0, top + 8 < M, false);
            #pragma unroll
            for (int i = 0; i < 32; ++i) {
                float x = beta * number(i % 2 ? pairs[i / 2].y : pairs[i / 2].x);
                sums[n / 2 + i] = epilogue.multiplied ? sums[n / 2 + i] * x : sums[n / 2 + i] + x;
            }
        }
#endif
        if (!(mapped & 4)) {
            Out* d = D + product * batch.d + top * (long long)ldd;
            #pragma unroll
            for (int i = 0; i < BN / 2; i += 2) {
                int row = top + i / 2 % 2 * 8;
                int col = left + i / 4 * 8;
                Pair both = pair(sums[i], sums[i + 1]);
                Out* to = d + i / 2 % 2 * 8LL * ldd + col;
                if (row < M && col < N)
                    to[0] = both.x;
                if (row < M && col + 1 < N)
                    to[1] = both.y;
            }
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
