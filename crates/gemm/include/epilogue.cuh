// What becomes of the sums of a warpgroup before they are rounded to C's type; and batches.
//
// For kernels of the library that say which type Out is: one of 16 bits, or float. Sums lie in
// registers as wgmma leaves them: a thread has rows `top` and `top + 8`, and of each 8 columns two
// neighbours, from `left` on.
//
//     using Out = float;
//     #include "epilogue.cuh"

#pragma once

#include "hopper.cuh"

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

// Boxes as in hopper.cuh, of a product's matrix in a batch.
__device__ void load_box(void* to, const TensorMap& map, int row, int col, int z, Barrier& full) {
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier"
                 "::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];"
                 ::"r"(shared(to)), "l"(&map), "r"(col), "r"(row), "r"(z), "r"(shared(&full))
                 : "memory");
}

template <int SHARERS>
__device__ void load_box_for_all(void* to, const TensorMap& map, int row, int col, int z,
                                 Barrier& full) {
    if (SHARERS == 1)
        return load_box(to, map, row, col, z, full);
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier"
                 "::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3, %4}], [%5], %6;"
                 ::"r"(shared(to)), "l"(&map), "r"(col), "r"(row), "r"(z), "r"(shared(&full)),
                   "h"((unsigned short)((1 << SHARERS) - 1))
                 : "memory");
}

// The L2 keeps what is written, or, of a stream, lets it leave first.
__device__ void store_box(const void* from, const TensorMap& map, int row, int col, int z,
                          bool is_stream) {
    asm volatile("{\n"
                 ".reg .pred stream;\n"
                 ".reg .b64 first, policy;\n"
                 "setp.ne.u32 stream, %5, 0;\n"
                 "createpolicy.fractional.L2::evict_first.b64 first, 1.0;\n"
                 "createpolicy.fractional.L2::evict_normal.b64 policy, 1.0;\n"
                 "selp.b64 policy, first, policy, stream;\n"
                 "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group.L2::cache_hint"
                 " [%0, {%1, %2, %3}], [%4], policy;\n"
                 "}" ::"l"(&map), "r"(col), "r"(row), "r"(z), "r"(shared(from)),
                 "r"((unsigned)is_stream) : "memory");
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

// Of a thread's sums in 64 columns.
__device__ void activate(float (&sums)[32], const Epilogue& epilogue) {
    if (epilogue.activation == RELU) {
        #pragma unroll
        for (int i = 0; i < 32; ++i)
            sums[i] = sums[i] < 0 ? 0 : sums[i];
    }
    if (epilogue.activation == SIGMOID) {
        #pragma unroll
        for (int i = 0; i < 32; i += 2) {  // two divisions by one reciprocal
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
        for (int i = 0; i < 32; ++i)
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

// Sums become act(alpha * r * c * sum + bias), and C is added or multiplied: 64 columns at a time,
// whose elements of C are asked for first. All of the tile is `inside` D, or some of it is not.
template <int SUMS>
__device__ void finish(float (&sums)[SUMS], const Epilogue& epilogue, int product, int top,
                       int left, bool inside, int M, int N, float alpha, float beta) {
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
    bool of_columns = epilogue.bias && !epilogue.bias_of_rows;
    bool paired = inside && (unsigned long long)epilogue.bias % sizeof(Pair) == 0;
    #pragma unroll
    for (int n = 0; n < SUMS / 32; ++n, left += 64) {
        float (&part)[32] = *(float (*)[32])&sums[32 * n];
#if ADDED
        long long ldc = epilogue.ldc;
        const Out* c = epilogue.c + product * epilogue.apart + top * ldc + left;
        Pair added[16];
        if (inside && (ldc | epilogue.apart) % 2 == 0 &&
            (unsigned long long)epilogue.c % sizeof(Pair) == 0)
            read(added, c, 8 * ldc, 64, true, true);
        else
            read(added, c, 8 * ldc, top < M ? N - left : 0, top + 8 < M, false);
#endif
        // Sum i is in row i / 2 % 2 of the two, and in this column.
        auto column = [&](int i) { return min(left + 8 * (i / 4) + i % 2, N - 1); };
        if (epilogue.columns) {
            #pragma unroll
            for (int i = 0; i < 32; ++i)
                part[i] *= epilogue.columns[column(i)];
        }
        if (of_columns) {
            Pair pairs[8];
            #pragma unroll
            for (int j = 0; j < 8; ++j) {
                if (paired)
                    pairs[j] = *(const Pair*)(epilogue.bias + left + 8 * j);
                else
                    pairs[j] = {epilogue.bias[column(4 * j)], epilogue.bias[column(4 * j + 1)]};
            }
            #pragma unroll
            for (int i = 0; i < 32; ++i)
                part[i] = part[i] * scale[i / 2 % 2] +
                          number(i % 2 ? pairs[i / 4].y : pairs[i / 4].x);
        } else {
            #pragma unroll
            for (int i = 0; i < 32; ++i)
                part[i] = part[i] * scale[i / 2 % 2] + bias[i / 2 % 2];
        }
        activate(part, epilogue);
#if ADDED
        #pragma unroll
        for (int i = 0; i < 32; ++i) {
            float x = beta * number(i % 2 ? added[i / 2].y : added[i / 2].x);
            part[i] = epilogue.multiplied ? part[i] * x : part[i] + x;
        }
#endif
    }
}

// To a D that no map describes.
template <int SUMS>
__device__ void store(Out* D, const float (&sums)[SUMS], int top, int left, int M, int N, int ldd) {
    Out* d = D + top * (long long)ldd;
    #pragma unroll
    for (int i = 0; i < SUMS; i += 2) {
        int row = top + i / 2 % 2 * 8;
        int col = left + i / 4 * 8;
        Pair both = pair(sums[i], sums[i + 1]);
        Out* to = d + i / 2 % 2 * 8LL * ldd + col;
        if (row < M && col < N)
            to[0] = both.x;
        if (row < M && col + 1 < N)
            to[1] = both.y;
    }
}
