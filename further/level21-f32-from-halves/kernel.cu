// Level 21: f32 from halves.
//
//   C = alpha * A * B + beta * C      A is M x K, B is K x N, or stored as N x K; C is M x N
//
// Tensor cores multiply numbers of 11 bits, many times as fast as FFMA those of 24. So each number
// is cut in two, x = (high + low / 2048) / factor, and three products stand for one:
//
//   high * high + (high * low + low * high) / 2048      low * low / 2048 / 2048 is left out
//
// The factor, a power of two for 128 numbers along K, brings the largest of them to the top of
// f16's range. A first kernel cuts both matrices, and leaves them in the room in the order and the
// form in which the second one copies them to shared memory. There sums of 128 products are made
// by tensor cores, and each thread adds those in f32: they cut off what they cannot keep, and it
// would add up.
//
// Given by LEVEL:  BM, BN      tile of C per block is BM x BN, 64 rows for each warpgroup that
//                              multiplies
//                  STAGES      buffers in shared memory
//                  BLOCKS      blocks of the grid at most: as many as run at a time
//                  TRANSPOSED  1 if B is stored as N x K
//                  ADDED       1 if beta is not 0
//                  room        memory for both matrices, cut

#include "hopper.cuh"

using T = unsigned short;     // a part of a number: the bits of an f16
constexpr int BK = 64;        // one step along K: a row of a box has 128 bytes
constexpr int CHUNK = 2 * BK; // numbers with one factor, whose products tensor cores sum

// A step of so many rows of A, or columns of B, which are lines along K.
template <int LINES>
struct alignas(1024) Cut {
    T high[LINES * BK];
    T low[LINES * BK];
    float scale[LINES];  // of a line of the chunk that the step is in: 1 / factor
};
struct Stage {
    Cut<BM> a;  // rows of A
    Cut<BN> b;  // boxes of 64 columns of B, one after the other; or rows of the stored one
};
struct Shared {
    Stage stages[STAGES];
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
static_assert(BM == 64 || BM == 128, "BM must be 64 or 128: 64 rows for each of two warpgroups");
static_assert(BN == 64 || BN == 128, "BN must be 64 or 128: no thread can hold more sums thrice");
static_assert(STAGES >= 3, "STAGES must be at least 3: two are read while the next is filled");
static_assert(sizeof(Shared) <= 227 * 1024, "the stages must fit into 227 KiB of shared memory");

__device__ int steps_along(int K) {
    return (K + CHUNK - 1) / CHUNK * 2;
}

// Where the tiles of A begin in the room, each with all its steps, and behind them those of B.
__device__ Cut<BM>* room_of_a(void* room, int tile, int K) {
    return (Cut<BM>*)room + (long long)tile * steps_along(K);
}

__device__ Cut<BN>* room_of_b(void* room, int tile, int M, int K) {
    return (Cut<BN>*)room_of_a(room, (M + BM - 1) / BM, K) + (long long)tile * steps_along(K);
}

// ANCHOR: split
__device__ float from_f16(unsigned short bits) {
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
}

// The absolute value's bits, which are ordered as it is. What is not finite has no say.
__device__ unsigned magnitude(float x) {
    unsigned bits = __float_as_uint(x) & 0x7fffffff;
    return bits < 0x7f800000 ? bits : 0;
}

// The bits of the power of two that brings a number to between 2^14 and 2^15, if there is one.
__device__ unsigned factor(unsigned magnitude) {
    return min(127 + 14 + 127 - (magnitude >> 23), 253u) << 23;
}

// Cuts a chunk of 64 lines; of a matrix that is stored along K, or across it. A thread has 16 pairs
// of neighbours in memory: of 8 lines, or 16 of two.
template <bool ALONG, int LINES>
__device__ void cut(Cut<LINES>* to, const float* from, int block, int chunk, int lines, int K,
                    int ld) {
    __shared__ unsigned most[64];
    int lane = threadIdx.x % 32;
    int warp = threadIdx.x / 32;
    if (threadIdx.x < 64)
        most[threadIdx.x] = 0;
    __syncthreads();  // the maxima are zeros
    float x[16][2];
    #pragma unroll
    for (int i = 0; i < 16; ++i)
        #pragma unroll
        for (int j = 0; j < 2; ++j) {
            int line = 64 * block + (ALONG ? 8 * warp + i / 2 : 2 * lane + j);
            int k = CHUNK * chunk + (ALONG ? BK * (i % 2) + 2 * lane + j : 16 * warp + i);
            x[i][j] = line < lines && k < K ? from[ALONG ? line * ld + k : k * ld + line] : 0;
        }
    #pragma unroll
    for (int i = 0; i < 16; ++i) {
        unsigned pair[2] = {magnitude(x[i][0]), magnitude(x[i][1])};
        if (ALONG) {
            unsigned both = __reduce_max_sync(~0u, max(pair[0], pair[1]));
            if (lane == 0)
                most[8 * warp + i / 2] = max(most[8 * warp + i / 2], both);
        } else {
            atomicMax(&most[2 * lane], pair[0]);
            atomicMax(&most[2 * lane + 1], pair[1]);
        }
    }
    __syncthreads();  // the maxima are those of the chunk
    int first = 64 * block % LINES;  // of the tile's lines
    to += (long long)(64 * block / LINES) * steps_along(K) + 2 * chunk;
    #pragma unroll
    for (int i = 0; i < 16; ++i) {
        int line = ALONG ? 8 * warp + i / 2 : 2 * lane;
        float p = x[i][0] * __uint_as_float(factor(most[line]));
        float q = x[i][1] * __uint_as_float(factor(most[line + !ALONG]));
        unsigned high = as_f16x2(p, q);
        unsigned low = as_f16x2((p - from_f16(high)) * 2048, (q - from_f16(high >> 16)) * 2048);
        Cut<LINES>& step = to[ALONG ? i % 2 : warp / 4];
        int row = first + (ALONG ? 8 * warp + i / 2 : 16 * warp % 64 + i);  // of 128 bytes
        *(unsigned*)((char*)step.high + swizzled(row, 4 * lane)) = high;
        *(unsigned*)((char*)step.low + swizzled(row, 4 * lane)) = low;
    }
    if (threadIdx.x < 64)
        for (int i = 0; i < 2; ++i)
            to[i].scale[first + threadIdx.x] =
                __uint_as_float((254u << 23) - factor(most[threadIdx.x]));
}

// A block for each chunk of 64 lines of whole tiles of A, then of B.
extern "C" __global__ void __launch_bounds__(256)
split(const float* A, const float* B, float* C, void* room, int M, int N, int K, int lda, int ldb,
      int ldc, float alpha, float beta) {
    int chunks = steps_along(K) / 2;
    int block = blockIdx.x / chunks;
    int chunk = blockIdx.x % chunks;
    int of_a = (M + BM - 1) / BM * (BM / 64);
    if (block < of_a)
        cut<true>(room_of_a(room, 0, K), A, block, chunk, M, K, lda);
    else
        cut<TRANSPOSED>(room_of_b(room, 0, M, K), B, block - of_a, chunk, N, K, ldb);
}
// ANCHOR_END: split

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

// So many bytes to shared memory, by a copy that counts at the barrier.
__device__ void load(void* to, const void* from, int bytes, Barrier& barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1], %2, [%3];"
                 ::"r"(shared(to)), "l"(__cvta_generic_to_global(from)), "r"(bytes),
                   "r"(shared(&barrier)) : "memory");
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
gemm_halves(const float* A, const float* B, float* C, void* room, int M, int N, int K, int lda,
            int ldb, int ldc, float alpha, float beta) {
    extern __shared__ __align__(1024) unsigned char raw[];
    Shared& s = *(Shared*)raw;
    // ANCHOR: mapping
    int tid = threadIdx.x % 128;    // within the warpgroup
    int group = threadIdx.x / 128;  // 64 rows of the tile; or the producer
    // Blocks go through C band by band, and down each column in a band.
    int across = (N + BN - 1) / BN;
    int down = (M + BM - 1) / BM;
    int row;  // the tile's, of tiles
    int col;
    auto go_to = [&](int tile) {
        int band = tile / (BAND * across) * BAND;
        int at = tile % (BAND * across);
        int height = min(BAND, down - band);
        row = band + at % height;
        col = at / height;
    };
    int steps = steps_along(K);
    // ANCHOR_END: mapping
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; ++i) {
            init(s.full[i], 1);
            init(s.empty[i], GROUPS);
        }
        show_barriers();
    }
    __syncthreads();  // the barriers are ready
    Ring ring;
    // ANCHOR: producer
    if (group == GROUPS) {
        keep_registers<KEPT>();
        for (int tile = blockIdx.x; tile < across * down && tid == 0; tile += gridDim.x) {
            go_to(tile);
            for (int step = 0; step < steps; ++step, ring.next()) {
                Stage& stage = s.stages[ring.at];
                wait(s.empty[ring.at], ring.parity ^ 1);  // at first, each stage is empty
                arrive_and_expect(s.full[ring.at], sizeof(Stage));
                load(&stage.a, room_of_a(room, row, K) + step, sizeof stage.a, s.full[ring.at]);
                load(&stage.b, room_of_b(room, col, M, K) + step, sizeof stage.b, s.full[ring.at]);
            }
        }
        return;
    }
    // ANCHOR_END: producer
    get_registers<GOT>();
    int lane = tid % 32;
    int line = 64 * group + tid / 32 * 16 + lane / 4;  // its row of the tile; another is 8 below
    float acc[BN / 8][4];
    float high[BN / 8][4];  // sums of a chunk
    float low[BN / 8][4];   // times 2048
    for (int tile = blockIdx.x; tile < across * down; tile += gridDim.x) {
        go_to(tile);
        #pragma unroll
        for (int i = 0; i < BN / 2; ++i)
            acc[i / 4][i % 4] = 0;
        // ANCHOR: mainloop
        for (int chunk = 0; chunk < steps / 2; ++chunk) {
            int before;  // the stage of the chunk's first step
            #pragma unroll
            for (int step = 0; step < 2; ++step) {
                Stage& stage = s.stages[ring.at];
                wait(s.full[ring.at], ring.parity);
                constexpr int TO_NEXT = TRANSPOSED ? 2 : 128;  // 16 of K, in 16 bytes
                constexpr int BOX = TRANSPOSED ? 16 : 64 * BK * sizeof(T);
                auto a_high = descriptor(stage.a.high + group * 64 * BK, 1024, 16);
                auto a_low = descriptor(stage.a.low + group * 64 * BK, 1024, 16);
                auto b_high = descriptor(stage.b.high, 1024, BOX);
                auto b_low = descriptor(stage.b.low, 1024, BOX);
                begin_products();
                #pragma unroll
                for (int k = 0; k < BK / 16; ++k) {
                    multiply<TRANSPOSED>(low, a_low + 2 * k, b_high + TO_NEXT * k, step + k);
                    multiply<TRANSPOSED>(low, a_high + 2 * k, b_low + TO_NEXT * k, 1);
                    multiply<TRANSPOSED>(high, a_high + 2 * k, b_high + TO_NEXT * k, step + k);
                }
                commit_products();
                if (step == 0) {
                    before = ring.at;
                    ring.next();
                }
            }
            await_products<1>();
            if (tid == 0)
                arrive(s.empty[before]);
            await_products<0>();
            const Stage& stage = s.stages[ring.at];
            float above = stage.a.scale[line];
            float below = stage.a.scale[line + 8];
            #pragma unroll
            for (int n = 0; n < BN / 8; ++n)
                #pragma unroll
                for (int i = 0; i < 4; ++i) {
                    float sum = high[n][i] + low[n][i] * 0x1p-11f;
                    float scale = stage.b.scale[8 * n + lane % 4 * 2 + i % 2];
                    acc[n][i] += sum * scale * (i < 2 ? above : below);
                }
            meet<128>(group + 1);  // all have read the scales
            if (tid == 0)
                arrive(s.empty[ring.at]);
            ring.next();
        }
        // ANCHOR_END: mainloop
        // ANCHOR: epilogue
        // Infinities and NaNs come from those of A or B, or a sum is too large for f32: a plain sum
        // tells which. That is rare, and so it may take its time.
        unsigned long long odd = 0;
        auto store = [&](int i, float sum, bool plainly) {
            int r = row * BM + line + i / 2 % 2 * 8;
            int c = col * BN + i / 4 * 8 + lane % 4 * 2 + i % 2;
            if (r >= M || c >= N)
                return;
            for (int k = 0; plainly && k < K; ++k)
                sum += A[r * lda + k] * B[TRANSPOSED ? c * ldb + k : k * ldb + c];
            if (plainly || fabsf(sum) < __int_as_float(0x7f800000))
                C[r * ldc + c] = alpha * sum + (ADDED ? beta * C[r * ldc + c] : 0);
            else
                odd |= 1ull << i;
        };
        #pragma unroll
        for (int i = 0; i < BN / 2; ++i)
            store(i, acc[i / 4][i % 4], false);
        for (; odd; odd &= odd - 1)
            store(__ffsll(odd) - 1, 0, true);
        // ANCHOR_END: epilogue
    }
}
