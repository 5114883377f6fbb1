// Level 21: f32 from halves.
//
//   C = A * B      A is M x K, B is K x N, C is M x N; row-major, no padding.
//
// Level 13, for numbers that tensor cores do not multiply: f32. They multiply numbers of 11 bits
// many times as fast as FFMA those of 24. So each number is cut in two,
// x = (high + low / 2048) * scale, and three products stand for one:
//
//   high * high + (high * low + low * high) / 2048
//
// low * low is left out: it is no larger than what the cut itself loses, 2 of 24 bits. In bf16, of
// 8 bits, it would be three parts and six products; tf32 needs no scales, but twice the time. The
// scale, a power of two for each 128 numbers along K, has the largest of them fill f16's range: few
// are so far below it that they lose their low part. Sums of different scales add only once scaled.
// Low parts are times 2048, so as not to be subnormal. A first kernel cuts both matrices into the
// room, in the order in which the second one copies them to shared memory: a tile is read by every
// block of its row or column of tiles, and would be cut as many times. Its work grows as n * n, and
// products as n * n * n: it counts where matrices are small. Tensor cores cut off what they cannot
// keep, and along K that adds up: so they sum 128 products, and each thread adds such sums in f32.
// The error is no larger than a plain sum's in f32. An infinity comes out as NaN.
//
// Given by LEVEL:  BM, BN  tile of C per block is BM x BN, 64 rows for each warpgroup that
//                          multiplies
//                  STAGES  buffers in shared memory
//                  room    memory for both matrices, cut

#include "hopper.cuh"

using T = unsigned short;  // a part of a number: the bits of an f16

constexpr int BK = 64;         // one step along K: a row of a tile has 128 bytes
constexpr int CHUNK = 2 * BK;  // numbers with one scale; of a longer sum, more would be cut
// A step of so many rows of A, or columns of B: of lines along K.
template <int LINES>
struct alignas(1024) Cut {
    T high[LINES * BK];
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

// ANCHOR: split
__shared__ float part[64][CHUNK + 1];  // of a matrix; padded, for its columns

// Cuts a chunk of 64 lines of A, which lie ALONG K, or of B, which lie across it.
template <bool ALONG, int LINES>
__device__ void cut(Cut<LINES>* tile, const float* from, int first, int lines, int chunk, int K) {
    for (int i = threadIdx.x; i < 64 * CHUNK; i += blockDim.x) {
        int line = ALONG ? i / CHUNK : i % 64;
        int k = ALONG ? i % CHUNK : i / 64;
        int row = first + line;
        int col = CHUNK * chunk + k;
        bool inside = row < lines && col < K;
        part[line][k] = inside ? from[ALONG ? row * K + col : col * lines + row] : 0;
    }
    __syncthreads();  // the chunk is full
    int lane = threadIdx.x % 32;
    for (int line = threadIdx.x / 32; line < 64; line += blockDim.x / 32) {
        unsigned most = 0;  // the bits of an absolute value are ordered as it is
        for (int k = lane; k < CHUNK; k += 32)
            most = max(most, __float_as_uint(part[line][k]) & 0x7fffffff);
        // The power of two that brings the largest to 2^14 or a bit more, by its exponent.
        unsigned up = min(127 + 14 + 127 - (__reduce_max_sync(~0u, most) >> 23), 253u);
        for (int k = 2 * lane; k < CHUNK; k += BK) {
            Cut<LINES>& step = tile[2 * chunk + k / BK];
            float p = part[line][k] * __uint_as_float(up << 23);
            float q = part[line][k + 1] * __uint_as_float(up << 23);
            unsigned high = as_f16x2(p, q);
            unsigned low = as_f16x2((p - from_f16(high)) * 2048, (q - from_f16(high >> 16)) * 2048);
            int row = first % LINES + line;
            *(unsigned*)((char*)step.high + swizzled(row, 4 * lane)) = high;
            *(unsigned*)((char*)step.low + swizzled(row, 4 * lane)) = low;
            if (lane == 0)
                step.scale[row] = __uint_as_float(254 - up << 23);
        }
    }
}

// A block for each chunk of 64 lines, of all tiles of A and then of B.
extern "C" __global__ void __launch_bounds__(256)
split(const float* A, const float* B, float* C, void* room, int M, int N, int K) {
    int chunk = blockIdx.x % tiles_of(K, CHUNK);
    int first = blockIdx.x / tiles_of(K, CHUNK) * 64;
    int of_b = first - tiles_of(M, BM) * BM;
    if (of_b < 0)
        cut<true>(tile_of_a(room, first / BM, K), A, first, M, chunk, K);
    else
        cut<false>(tile_of_b(room, of_b / BN, M, K), B, of_b, N, chunk, K);
}
// ANCHOR_END: split

// Two neighbours of a row of C, of which `left` are inside the matrix.
__device__ void store(float* to, float x, float y, int left, bool paired) {
    if (paired && left > 0)
        *(float2*)to = {x, y};
    if (!paired && left > 0)
        to[0] = x;
    if (!paired && left > 1)
        to[1] = y;
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
gemm_halves(const float* A, const float* B, float* C, void* room, int M, int N, int K) {
    extern __shared__ __align__(1024) unsigned char raw[];
    Shared& s = *(Shared*)raw;
    // ANCHOR: mapping
    int tid = threadIdx.x % 128;    // within the warpgroup
    int group = threadIdx.x / 128;  // 64 rows of the tile; or the producer
    // The blocks go through C band by band, and down each column of tiles in a band.
    int across = (N + BN - 1) / BN;
    int down = (M + BM - 1) / BM;
    int band = blockIdx.x / (BAND * across) * BAND;
    int at = blockIdx.x % (BAND * across);
    int height = min(BAND, down - band);
    int row0 = (band + at % height) * BM;  // the tile's corner in C
    int col0 = at / height * BN;
    int steps = 2 * tiles_of(K, CHUNK);
    // ANCHOR_END: mapping
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; ++i) {
            init(s.full[i], 1);
            init(s.empty[i], GROUPS);
        }
        show_barriers();
    }
    __syncthreads();  // the barriers are ready; from here on, nobody waits for all
    Ring ring;
    // ANCHOR: producer
    // Asks for the tiles of a step, as soon as a stage is empty. At first, each one is.
    auto load = [&](int step) {
        Stage& stage = s.stages[ring.at];
        Barrier& full = s.full[ring.at];
        wait(s.empty[ring.at], ring.parity ^ 1);
        arrive_and_expect(full, sizeof(Stage));
        load_bytes(&stage.a, tile_of_a(room, row0 / BM, K) + step, sizeof stage.a, full);
        load_bytes(&stage.b, tile_of_b(room, col0 / BN, M, K) + step, sizeof stage.b, full);
    };
    if (group == GROUPS) {
        keep_registers<KEPT>();
        for (int step = 0; step < steps && tid == 0; ++step, ring.next())
            load(step);
        return;
    }
    // ANCHOR_END: producer
    // ANCHOR: mainloop
    get_registers<GOT>();
    float acc[BN / 8][4] = {};
    float high[BN / 8][4];  // sums of a chunk
    float low[BN / 8][4];   // times 2048; in the same sum as high, its last bits would be cut
    int line = 64 * group + 16 * (tid / 32) + tid % 32 / 4;  // its row of the tile; and 8 below
    int before = 0;  // the stage of the step before
    for (int step = 0; step < steps; ++step, ring.next()) {
        Stage& stage = s.stages[ring.at];
        wait(s.full[ring.at], ring.parity);
        unsigned long long a = descriptor(stage.a.high + group * 64 * BK, 1024, 16);
        unsigned long long b = descriptor(stage.b.high, 1024, 16);
        constexpr int LOW_A = BM * BK / 8;  // from the high parts to the low ones, in 16 bytes
        constexpr int LOW_B = BN * BK / 8;
        begin_products();
        #pragma unroll
        for (int k = 0; k < BK / 16; ++k, a += 2, b += 2) {  // 16 of K, in units of 16 bytes
            multiply<true>(low, a + LOW_A, b, step % 2 + k);
            multiply<true>(low, a, b + LOW_B, 1);
            multiply<true>(high, a, b, step % 2 + k);
        }
        commit_products();
        await_products<1>();  // but those: this warpgroup is done with the stage before
        if (step > 0 && tid == 0)
            arrive(s.empty[before]);
        before = ring.at;
        if (step % 2 == 0)
            continue;
        await_products<0>();
        #pragma unroll
        for (int i = 0; i < BN / 2; ++i) {
            float sum = high[i / 4][i % 4] + low[i / 4][i % 4] * 0x1p-11f;
            float p = stage.a.scale[line + i / 2 % 2 * 8];
            float q = stage.b.scale[i / 4 * 8 + tid % 4 * 2 + i % 2];
            acc[i / 4][i % 4] += sum * min(p, q) * max(p, q);  // so: only the result can overflow
        }
        meet<128>(group + 1);  // all have read the scales
    }
    await_products<0>();
    // ANCHOR_END: mainloop
    // ANCHOR: epilogue
    #pragma unroll
    for (int n = 0; n < BN / 8; ++n)
        #pragma unroll
        for (int half = 0; half < 2; ++half) {
            int row = row0 + line + 8 * half;
            int col = col0 + 8 * n + tid % 4 * 2;  // lane 4 * g + t: 2 * t and 2 * t + 1 of row g
            if (row < M)
                store(&C[row * N + col], acc[n][2 * half], acc[n][2 * half + 1], N - col,
                      N % 2 == 0);
        }
    // ANCHOR_END: epilogue
}
