// Whole numbers by their remainders: what stands for a number of many bits in products of bytes.
//
// Lesson 23 explains it. The kernel says before, by a macro, of how many moduli:
//
//     #define MODULI 15
//     #include "hopper.cuh"
//     #include "remainders.cuh"
//
// and by others, of how many rows and columns a tile is: BM, BN, CLUSTER.

#pragma once

// ANCHOR: moduli
// No two have a common factor. So numbers from -P / 2 to P / 2, where P is the product of all,
// differ in some remainder.
constexpr unsigned ALL_MODULI[] = {256, 255, 253, 251, 247, 241, 239, 233, 229,
                                   227, 223, 217, 211, 199, 197, 193, 191, 181};
static_assert(MODULI >= 1 && MODULI <= 18, "MODULI must be at most 18: no more have a byte's size");
// ANCHOR_END: moduli

// What is left of 256 to the power of `byte` by division by the modulus.
__device__ constexpr unsigned power_of_256(int byte, unsigned modulus) {
    unsigned power = 1;
    for (int i = 0; i < byte; ++i)
        power = power * 256 % modulus;
    return power;
}

// What times the product of all other moduli leaves 1.
__device__ constexpr unsigned inverse(int of) {
    unsigned modulus = ALL_MODULI[of];
    unsigned others = 1;
    for (int i = 0; i < MODULI; ++i)
        others = others * (i == of ? 1 : ALL_MODULI[i]) % modulus;
    unsigned inverse = 1;
    while (others * inverse % modulus != 1)
        ++inverse;
    return inverse;
}

// What takes the remainders of numbers of 64 bits, times a factor: the remainders of their bytes'
// weights, and what a number has too much for having no sign.
struct Weights {
    unsigned bytes[2] = {};
    unsigned more = 0;
};

__device__ constexpr Weights weights(unsigned modulus, unsigned factor) {
    Weights w;
    for (int i = 0; i < 8; ++i)
        w.bytes[i / 4] |= power_of_256(i, modulus) * factor % modulus << i % 4 * 8;
    // 2^63 is 128 times the weight of byte 7.
    w.more = modulus / 2 + modulus - power_of_256(7, modulus) * factor % modulus * 128 % modulus;
    return w;
}

struct Modulus {
    // For remainders of numbers. What is read together lies together.
    unsigned size = 0;
    unsigned reciprocal = 0;  // 2^32 / size, and a bit more
    // For those of sums.
    unsigned divisor = 0;     // size
    unsigned share = 0;       // 2^39 / size, or a bit less
    unsigned zero = 0;        // almost 2^31, and leaves nothing
    Weights of_a;             // times the inverse of the other moduli
    Weights of_b;
    double high = 0;          // 1 / size: 49 bits behind the point
    double low = 0;           // and what is behind them
};

struct Moduli {
    Modulus each[MODULI] = {};
    double high = 0;  // P
    double low = 0;
};

__device__ constexpr Moduli all_moduli() {
    Moduli all;
    unsigned long long limbs[3] = {1, 0, 0};  // of 48 bits, of P
    for (int i = 0; i < MODULI; ++i) {
        Modulus& m = all.each[i];
        m.size = ALL_MODULI[i];
        m.divisor = m.size;
        m.reciprocal = (1ull << 32) / m.size + 1;
        m.share = (1ull << 39) / m.size;
        m.zero = (1u << 31) / m.size * m.size;
        m.of_a = weights(m.size, inverse(i));
        m.of_b = weights(m.size, 1);
        m.high = (double)((1ull << 49) / m.size) * 0x1p-49;
        m.low = (1 - m.high * m.size) / m.size;
        unsigned long long carry = 0;
        for (unsigned long long& limb : limbs) {
            limb = limb * m.size + carry;
            carry = limb >> 48;
            limb &= (1ull << 48) - 1;
        }
    }
    all.high = limbs[2] * 0x1p96 + limbs[1] * 0x1p48;
    all.low = limbs[2] * 0x1p96 - all.high + limbs[1] * 0x1p48 + limbs[0];
    return all;
}

__constant__ constexpr Moduli MODULUS = all_moduli();

// The sum of c and of four products of bytes. In PTX, since NVRTC 12.0 has no body for __dp4a.
__device__ inline unsigned dot4(unsigned a, unsigned b, unsigned c) {
    unsigned sum;
    asm("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(b), "r"(c));
    return sum;
}

// ANCHOR: remainder
// The remainder of a number times a factor, from -size / 2 on: of x + 2^63, byte by byte.
__device__ inline int remainder(unsigned long long x, const Weights& weights, const Modulus& m) {
    unsigned sum = dot4((unsigned)x, weights.bytes[0], weights.more);
    sum = dot4((unsigned)(x >> 32), weights.bytes[1], sum);
    return sum - __umulhi(sum, m.reciprocal) * m.size - m.size / 2;
}

// The remainder of a sum of products, from 0 on. The quotient may be 1 too small. Where all are 0,
// so is the sum, exactly.
__device__ inline unsigned remainder(int sum, const Modulus& m) {
    unsigned x = sum + m.zero;
    x -= (__umulhi(x, m.share) >> 7) * m.divisor;
    return min(x, x - m.divisor);
}

// Those of 16 sums that a thread has of wgmma, in its order: from column 8 * first on.
template <int COLUMNS>
__device__ uint4 remainders(const int (&sums)[COLUMNS][4], int first, const Modulus& m) {
    unsigned four[4] = {};
    #pragma unroll
    for (int i = 0; i < 16; ++i)
        four[i / 4] |= remainder(sums[first + i / 4][i % 4], m) << i % 4 * 8;
    return {four[0], four[1], four[2], four[3]};
}
// ANCHOR_END: remainder

// ANCHOR: theorem
// Of x / P, where x is the number that remainders say, what a whole number leaves: the sum of
// remainders / moduli leaves the same. The high parts are summed without an error.
struct Fraction {
    double high = 0;
    double low = 0;

    __device__ void add(unsigned remainder, const Modulus& m) {
        double x = __hiloint2double(0x43300000, remainder) - 0x1p52;
        high = fma(x, m.high, high);
        low = fma(x, m.low, low);
    }

    // Times P, rounded once.
    __device__ double number() const {
        double part = high - rint(high);
        return fma(part, MODULUS.high, fma(part, MODULUS.low, low * MODULUS.high));
    }
};

__device__ inline void add(Fraction (&to)[16], uint4 remainders, const Modulus& m) {
    unsigned four[4] = {remainders.x, remainders.y, remainders.z, remainders.w};
    #pragma unroll
    for (int i = 0; i < 16; ++i)
        to[i].add(four[i / 4] >> i % 4 * 8 & 0xff, m);
}
// ANCHOR_END: theorem

// ANCHOR: cut
constexpr int LINES = 16;       // rows of A or columns of B that a block cuts
constexpr int CUT_K = 256;      // numbers of a step along them
constexpr int CUTTERS = LINES * CUT_K / 16;  // threads: each has 16 neighbours along K
constexpr int MOST_K = 131071;  // products of bytes that an s32 has room for the sum of
constexpr int KEPT_BITS = 54 - (MODULI < 15) * 4;
__shared__ double part[LINES][CUT_K / 16 * 17 + 1];  // a step; padded every 16 numbers

// Remainders of some lines, rows of A or columns of B, of a matrix whose rows, as it is stored, are
// `leading` numbers apart: they lie ALONG K, as in A, or across it, as in B. Of 16 numbers,
// to(modulus, line, k) is the place of their 16 bytes.
template <bool OF_A, bool ALONG, class To>
__device__ void cut(const double* from, int leading, double* scales, int first, int lines, int K,
                    To to) {
    int line = threadIdx.x / (CUT_K / 16);
    int place = threadIdx.x % (CUT_K / 16) * 16;
    const double* own = part[line] + place / 16 * 17;
    auto load = [&](int step) {
        __syncthreads();  // all have read the step before
        #pragma unroll
        for (int i = threadIdx.x; i < LINES * CUT_K; i += CUTTERS) {
            int line = ALONG ? i / CUT_K : i % LINES;
            int k = ALONG ? i % CUT_K : i / LINES;
            int row = first + line;
            int col = step * CUT_K + k;
            bool inside = row < lines && col < K;
            part[line][k + k / 16] = inside ? from[ALONG ? row * leading + col : col * leading + row] : 0;
        }
        __syncthreads();  // the step is here
    };
    double squares = 0;
    long long exponents = 0;
    int count = 0;  // of numbers that are not 0
    int steps = (K + CUT_K - 1) / CUT_K;
    for (int step = 0; step < steps; ++step) {
        load(step);
        for (int i = 0; i < 16; ++i) {
            squares = fma(own[i], own[i], squares);
            exponents += __double2hiint(own[i]) >> 20 & 0x7ff;
            count += own[i] != 0;
        }
    }
    for (int lane = 1; lane < CUT_K / 16; lane *= 2) {
        squares += __shfl_xor_sync(~0u, squares, lane);
        exponents += __shfl_xor_sync(~0u, exponents, lane);
        count += __shfl_xor_sync(~0u, count, lane);
    }
    // No sum of products is larger than the roots of both sums of squares, multiplied: here P / 2.
    double most = fmin(MODULUS.high * 0.499, 0x1p124);  // and no number than 2^62: 64 bits hold it
    int up = count > 0 ? (__double2hiint(most / squares) >> 20) - 1023 >> 1 : 0;
    // The bits that numbers keep on average; fewer suffice where many are summed.
    bool keeps = 2 * (exponents + (up - 1023ll) * count) >=
                 (2 * KEPT_BITS + __clz(count) - 31ll) * count;
    bool holds = count == 0 || squares > 0x1p-800 && squares < 0x1p800 && keeps;
    double scale = holds && K <= MOST_K ? __hiloint2double(1023 + up << 20, 0) : 0;
    if (place == 0)
        scales[first + line] = scale == 0 ? 0 : 1 / scale;
    while (steps-- > 0) {  // backwards: of the last ones, L2 may have some
        load(steps);
        unsigned long long x[16];
        #pragma unroll
        for (int i = 0; i < 16; ++i)  // a number from -2^62 to 2^62, plus 2^63
            x[i] = __double2ll_rn(own[i] * scale) ^ 1ull << 63;
        #pragma unroll 1
        for (int l = 0; l < MODULI; ++l) {
            const Modulus& m = MODULUS.each[l];
            unsigned four[4] = {};
            #pragma unroll
            for (int i = 0; i < 16; ++i) {
                unsigned byte = remainder(x[i], OF_A ? m.of_a : m.of_b, m) & 0xff;
                four[i / 4] |= byte << i % 4 * 8;
            }
            int k = steps * CUT_K + place;
            if (k < (K + 127) / 128 * 128)  // wgmma's kernel takes 128 a step
                *(uint4*)to(l, line, k) = {four[0], four[1], four[2], four[3]};
        }
    }
}

// The same of a matrix as the plain product has it.
template <bool OF_A, class To>
__device__ void cut(const double* from, double* scales, int first, int lines, int K, To to) {
    cut<OF_A, OF_A>(from, OF_A ? K : lines, scales, first, lines, K, to);
}
// ANCHOR_END: cut

// ANCHOR: plain
// Sums of products in f64 on tensor cores, of 16 rows and 32 columns from here on, as lanes of a
// warp hold them after wgmma. a(row, k) and b(k, column) are numbers of A and of B.
template <class A, class B>
__device__ void sum(double (&c)[16], A a, B b, int row, int col, int M, int N, int K) {
    int lane = threadIdx.x % 32;
    for (int first = 0; first < K; first += 4) {
        int k = first + lane % 4;
        #pragma unroll
        for (int i = 0; i < 8; ++i) {
            int of_a = row + lane / 4 + i % 2 * 8;
            int of_b = col + lane / 4 + i / 2 * 8;
            double x = k < K && of_a < M ? a(of_a, k) : 0;
            double y = k < K && of_b < N ? b(k, of_b) : 0;
            asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                : "+d"(c[2 * i]), "+d"(c[2 * i + 1]) : "d"(x), "d"(y));
        }
    }
}
// ANCHOR_END: plain

constexpr int STEP = 128;  // along K: a row of a tile has 128 bytes

// ANCHOR: room
// What lies where in the room: scales of A and B, remainders of both, tile by tile, those of C.
struct Room {
    double* scales;  // of A's rows, then of B's columns
    int rows;        // of A, in whole clusters
    int columns;     // of B, in whole tiles
    int steps;

    __device__ Room(void* room, int M, int N, int K) : scales((double*)room) {
        rows = (M + BM * CLUSTER - 1) / (BM * CLUSTER) * (BM * CLUSTER);
        columns = (N + BN - 1) / BN * BN;
        steps = (K + STEP - 1) / STEP;
    }
    // Where the remainder of a line's number lies: tile by tile, as a stage holds it.
    __device__ signed char* place(signed char* first, int lines, int tile, int modulus, int line,
                                  int k) const {
        long long tiles = (modulus * (long long)lines + line / tile * tile) * steps;
        return first + (tiles + k / STEP * tile) * STEP + swizzled(line % tile, k % STEP);
    }
    __device__ signed char* a(int modulus, int row, int k) const {
        return place((signed char*)(scales + rows + columns), rows, BM, modulus, row, k);
    }
    __device__ signed char* b(int modulus, int col, int k) const {
        return place(a(MODULI, 0, 0), columns, BN, modulus, col, k);
    }
    __device__ uint4* c(int modulus, int row, int col) const {  // 16 numbers of each thread
        return (uint4*)(b(MODULI, 0, 0) + (modulus * (long long)rows + row) * columns + col * BM);
    }
};
// ANCHOR_END: room

// So many bytes to the same place of each block of the cluster, where they count at this barrier.
__device__ void load_bytes_for_all(void* to, const void* from, int bytes, Barrier& barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                 ".multicast::cluster [%0], [%1], %2, [%3], %4;"
                 ::"r"(shared(to)), "l"(__cvta_generic_to_global(from)), "r"(bytes),
                   "r"(shared(&barrier)), "h"((unsigned short)((1 << CLUSTER) - 1)) : "memory");
}

// ANCHOR: put
// Elements of C of 16 rows and 32 columns from here on, a lane's 16 of them: by remainders, or
// where these do not say the number, by sums of products in f64. They go to store(row, col, number).
template <class A, class B, class Store>
__device__ void put(const Fraction (&fractions)[16], const Room& r, A a, B b, Store store, int row,
                    int col, int M, int N, int K) {
    int lane = threadIdx.x % 32;
    auto row_of = [&](int i) { return row + lane / 4 + i / 2 % 2 * 8; };
    auto col_of = [&](int i) { return col + lane % 4 * 2 + i / 4 * 8 + i % 2; };
    auto scale = [&](int i) {  // 0 where the remainders do not say the number
        return r.scales[row_of(i)] * r.scales[r.rows + col_of(i)];
    };
    bool holds = true;
    #pragma unroll
    for (int i = 0; i < 16; ++i)
        holds &= scale(i) != 0;
    double x[16] = {};
    if (!__all_sync(~0u, holds))
        sum(x, a, b, row, col, M, N, K);
    #pragma unroll
    for (int i = 0; i < 16; ++i) {
        double number = scale(i) != 0 ? fractions[i].number() * scale(i) : x[i];
        if (row_of(i) < M && col_of(i) < N)
            store(row_of(i), col_of(i), number);
    }
}

// The same of the plain product.
__device__ inline void put(const Fraction (&fractions)[16], const Room& r, const double* A,
                           const double* B, double* C, int row, int col, int M, int N, int K) {
    auto a = [&](int m, int k) { return A[m * K + k]; };
    auto b = [&](int k, int n) { return B[k * N + n]; };
    auto store = [&](int m, int n, double number) { C[m * N + n] = number; };
    put(fractions, r, a, b, store, row, col, M, N, K);
}
// ANCHOR_END: put
