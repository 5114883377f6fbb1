// Level 21: f32 from halves.
//
//   C = alpha * A * B + beta * C      A is M x K, B is K x N, or stored as N x K; C is M x N
//
// Tensor cores multiply numbers of 11 bits many times as fast as FFMA those of 24. So each number
// is cut in two, x = (high + low / 2048) * scale, and three products stand for one:
//
//   high * high + (high * low + low * high) / 2048      low * low / 2048 / 2048 is left out
//
// The scale, a power of two for each 128 numbers along K, has the largest of them fill f16's range.
// A first kernel cuts both matrices into the room, in the order and the form in which the second
// one copies them to shared memory. Tensor cores cut off what they cannot keep, and along K that
// adds up: so they sum 128 products, and each thread adds such sums in f32.
//
// Given by LEVEL:  BM, BN      tile of C per block is BM x BN, 64 rows for each warpgroup that
//                              multiplies
//                  STAGES      buffers in shared memory
//                  BLOCKS      blocks of the grid at most: as many as run at a time
//                  TRANSPOSED  1 if B is stored as N x K
//                  ADDED       1 if beta is not 0
//                  room        memory for both matrices, cut

#include "hopper.cuh"

using T = unsigned short;      // a part of a number: the bits of an f16
constexpr int BK = 64;         // one step along K: a row of a box has 128 bytes
constexpr int CHUNK = 2 * BK;  // numbers with one scale; of a longer sum, more would be cut

// A step of so many rows of A, or columns of B: of lines along K.
template <int LINES>
struct alignas(1024) Cut {
    T high[LINES * BK];  // rows; or boxes of 64 columns, one after the other
    T low[LINES * BK];
    float scale[LINES];  // of the chunk that the step is in
};
struct Stage {
    Cut<BM> a;
    Cut<BN> b;
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

__device__ int tiles_of(int lines, int size) {
    return (lines + size - 1) / size;
}

// The first step of a tile of A in the room; those of B are behind all of A.
__device__ Cut<BM>* tile_of_a(void* room, int tile, int K) {
    return (Cut<BM>*)room + 2ll * tiles_of(K, CHUNK) * tile;
}

__device__ Cut<BN>* tile_of_b(void* room, int tile, int M, int K) {
    return (Cut<BN>*)tile_of_a(room, tiles_of(M, BM), K) + 2ll * tiles_of(K, CHUNK) * tile;
}

// The bits of an absolute value, which are ordered as it is; what is not finite has no say.
__device__ unsigned magnitude(float x) {
    unsigned bits = __float_as_uint(x) & 0x7fffffff;
    return bits < 0x7f800000 ? bits : 0;
}

// The exponent, as an f32 has it, of the power of two that brings a number to 2^14 or a bit more.
__device__ unsigned exponent(unsigned magnitude) {
    return min(127 + 14 + 127 - (magnitude >> 23), 253u);
}

// Cuts a chunk of 64 lines of a matrix that is stored along K, or across it. A thread has 16 pairs
// of neighbours in memory: of 8 lines, or of two.
template <bool ALONG, int LINES>
__device__ void cut(Cut<LINES>* tile, const float* from, int first, int lines, int chunk, int K,
                    int ld) {
    __shared__ unsigned most[64];
    int lane = threadIdx.x % 32;
    int warp = threadIdx.x / 32;
    if (threadIdx.x < 64)
        most[threadIdx.x] = 0;
    __syncthreads();  // nobody has found a larger one yet
    constexpr int OWN = ALONG ? 8 : 2;  // lines of a thread
    unsigned found[OWN] = {};
    float x[16][2];
    #pragma unroll
    for (int i = 0; i < 16; ++i) {
        #pragma unroll
        for (int j = 0; j < 2; ++j) {
            int line = first + (ALONG ? 8 * warp + i / 2 : 2 * lane + j);
            int k = CHUNK * chunk + (ALONG ? i % 2 * BK + 2 * lane + j : 16 * warp + i);
            x[i][j] = line < lines && k < K ? from[ALONG ? line * ld + k : k * ld + line] : 0;
            unsigned& largest = found[ALONG ? i / 2 : j];
            largest = max(largest, magnitude(x[i][j]));
        }
    }
    #pragma unroll
    for (int n = 0; n < OWN; ++n)
        atomicMax(&most[ALONG ? 8 * warp + n : 2 * lane + n],
                  ALONG ? __reduce_max_sync(~0u, found[n]) : found[n]);
    __syncthreads();  // the largest number of each line is known
    tile += 2 * chunk;
    #pragma unroll
    for (int i = 0; i < 16; ++i) {
        int line = ALONG ? 8 * warp + i / 2 : 2 * lane;
        float p = x[i][0] * __uint_as_float(exponent(most[line]) << 23);
        float q = x[i][1] * __uint_as_float(exponent(most[line + !ALONG]) << 23);
        // TODO: two f16 each for p and q, in the halves of a register, of which x is high + low / 2048.
        unsigned high = 0;
        unsigned low = 0;
        Cut<LINES>& step = tile[ALONG ? i % 2 : warp / 4];
        int row = first % LINES + (ALONG ? line : warp % 4 * 16 + i);  // of 128 bytes
        *(unsigned*)((char*)step.high + swizzled(row, 4 * lane)) = high;
        *(unsigned*)((char*)step.low + swizzled(row, 4 * lane)) = low;
    }
    if (threadIdx.x < 128)
        tile[threadIdx.x / 64].scale[first % LINES + threadIdx.x % 64] =
            __uint_as_float(254 - exponent(most[threadIdx.x % 64]) << 23);
}

// A block for each chunk of 64 lines, of all tiles of A and then of B.
extern "C" __global__ void __launch_bounds__(256)
split(const float* A, const float* B, float* C, void* room, int M, int N, int K, int lda, int ldb,
      int ldc, float alpha, float beta) {
    int chunk = blockIdx.x % tiles_of(K, CHUNK);
    int first = blockIdx.x / tiles_of(K, CHUNK) * 64;
    int of_b = first - tiles_of(M, BM) * BM;
    if (of_b < 0)
        cut<true>(tile_of_a(room, first / BM, K), A, first, M, chunk, K, lda);
    else
        cut<TRANSPOSED>(tile_of_b(room, of_b / BN, M, K), B, of_b, N, chunk, K, ldb);
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

extern "C" __global__ void __launch_bounds__(THREADS, 1)
gemm_halves(const float* A, const float* B, float* C, void* room, int M, int N, int K, int lda,
            int ldb, int ldc, float alpha, float beta) {
    extern __shared__ __align__(1024) unsigned char raw[];
    Shared& s = *(Shared*)raw;
    int tid = threadIdx.x % 128;    // within the warpgroup
    int group = threadIdx.x / 128;  // 64 rows of the tile; or the producer
    // Blocks go through C band by band, and down each column of tiles in a band.
    int across = tiles_of(N, BN);
    int down = tiles_of(M, BM);
    int row;  // of tiles
    int col;
    auto go_to = [&](int tile) {
        int band = tile / (BAND * across) * BAND;
        int at = tile % (BAND * across);
        int height = min(BAND, down - band);
        row = band + at % height;
        col = at / height;
    };
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; ++i) {
            init(s.full[i], 1);
            init(s.empty[i], GROUPS);
        }
        show_barriers();
    }
    __syncthreads();  // the barriers are ready
    Ring ring;
    if (group == GROUPS) {
        keep_registers<KEPT>();
        for (int tile = blockIdx.x; tile < across * down && tid == 0; tile += gridDim.x) {
            go_to(tile);
            for (int step = 0; step < 2 * tiles_of(K, CHUNK); ++step, ring.next()) {
                Stage& stage = s.stages[ring.at];
                Barrier& full = s.full[ring.at];
                wait(s.empty[ring.at], ring.parity ^ 1);  // at first, each stage is empty
                arrive_and_expect(full, sizeof(Stage));
                load_bytes(&stage.a, tile_of_a(room, row, K) + step, sizeof stage.a, full);
                load_bytes(&stage.b, tile_of_b(room, col, M, K) + step, sizeof stage.b, full);
            }
        }
        return;
    }
    get_registers<GOT>();
    int lane = tid % 32;
    int line = 64 * group + tid / 32 * 16 + lane / 4;  // its row of the tile; another is 8 below
    float acc[BN / 8][4];
    float high[BN / 8][4];  // sums of a chunk
    float low[BN / 8][4];   // times 2048; in the same sum as high, its last bits would be cut
    for (int tile = blockIdx.x; tile < across * down; tile += gridDim.x) {
        go_to(tile);
        #pragma unroll
        for (int i = 0; i < BN / 2; ++i)
            acc[i / 4][i % 4] = 0;
        for (int chunk = 0; chunk < tiles_of(K, CHUNK); ++chunk, ring.next()) {
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
            #pragma unroll
            for (int i = 0; i < BN / 2; ++i) {
                float sum = high[i / 4][i % 4] + low[i / 4][i % 4] * 0x1p-11f;
                float scale = stage.b.scale[i / 4 * 8 + lane % 4 * 2 + i % 2];
                acc[i / 4][i % 4] += sum * scale * stage.a.scale[line + i / 2 % 2 * 8];
            }
            meet<128>(group + 1);  // all have read the scales
            if (tid == 0)
                arrive(s.empty[ring.at]);
        }
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
    }
}
