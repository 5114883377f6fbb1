// Hopper's asynchronous instructions, each behind a function.
//
// Lesson 12 explains the first of them. From level 12 on kernels include them:
//
//     #include "hopper.cuh"
//
// and the compiler is given this file with the kernel, from whichever folder.

#pragma once

// ANCHOR: types
// Where a matrix lies, and which box of it a copy moves; the host makes it.
struct alignas(64) TensorMap {
    char bytes[128];
};

// A barrier in shared memory: its phase ends when so many threads have arrived, and all bytes that
// it expects are here.
using Barrier = unsigned long long;
// ANCHOR_END: types

// An address in shared memory, as instructions take it.
__device__ inline unsigned shared(const void* p) {
    return __cvta_generic_to_shared(p);
}

// ANCHOR: barriers
__device__ inline void init(Barrier& barrier, int threads) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared(&barrier)), "r"(threads)
                 : "memory");
}

// What init has written is seen by copies, and by the other blocks of the cluster.
__device__ inline void show_barriers() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ inline void arrive(Barrier& barrier) {
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(shared(&barrier)) : "memory");
}

__device__ inline void arrive_and_expect(Barrier& barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;"
                 ::"r"(shared(&barrier)), "r"(bytes) : "memory");
}

// Until the phase of this parity has ended.
__device__ inline void wait(Barrier& barrier, int parity) {
    asm volatile("{\n"
                 ".reg .pred ended;\n"
                 "AGAIN:\n"
                 "mbarrier.try_wait.parity.shared.b64 ended, [%0], %1;\n"
                 "@!ended bra AGAIN;\n"
                 "}" ::"r"(shared(&barrier)), "r"(parity) : "memory");
}
// ANCHOR_END: barriers

// ANCHOR: copies
// The box whose first element is in this row and column. Beyond the edge it holds zeros.
__device__ inline void load_box(void* to, const TensorMap& map, int row, int col,
                                Barrier& barrier) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier"
                 "::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                 ::"r"(shared(to)), "l"(&map), "r"(col), "r"(row), "r"(shared(&barrier))
                 : "memory");
}

// So many bytes as they lie, a multiple of 16.
__device__ inline void load_bytes(void* to, const void* from, int bytes, Barrier& barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1], %2, [%3];"
                 ::"r"(shared(to)), "l"(__cvta_generic_to_global(from)), "r"(bytes),
                   "r"(shared(&barrier)) : "memory");
}

// A box on its way to C; what is beyond the edge is left out.
__device__ inline void store_box(const void* from, const TensorMap& map, int row, int col) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];"
                 ::"l"(&map), "r"(col), "r"(row), "r"(shared(from)) : "memory");
}

// The boxes that this thread has stored since the last group are one.
__device__ inline void commit_stores() {
    asm volatile("cp.async.bulk.commit_group;");
}

// Until all but the last LEFT groups of this thread have read their boxes.
template <int LEFT>
__device__ void await_stores() {
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(LEFT) : "memory");
}

// What this thread has written to shared memory is seen by copies and by wgmma.
__device__ inline void show_writes() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
// ANCHOR_END: copies

// ANCHOR: clusters
// At the barrier in the same place of another block of the cluster.
__device__ inline void arrive_at(Barrier& barrier, int rank) {
    asm volatile("{\n"
                 ".reg .b32 there;\n"
                 "mapa.shared::cluster.u32 there, %0, %1;\n"
                 "mbarrier.arrive.shared::cluster.b64 _, [there];\n"
                 "}" ::"r"(shared(&barrier)), "r"(rank) : "memory");
}

// load_box for the first SHARERS blocks of the cluster: the box comes to this place, and counts at
// this barrier, in each of them.
template <int SHARERS>
__device__ void load_box_for_all(void* to, const TensorMap& map, int row, int col,
                                 Barrier& barrier) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier"
                 "::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;"
                 ::"r"(shared(to)), "l"(&map), "r"(col), "r"(row), "r"(shared(&barrier)),
                   "h"((unsigned short)((1 << SHARERS) - 1))
                 : "memory");
}

// All threads of the cluster wait for each other. What they have written to memory need not be
// seen behind it.
__device__ inline void meet_cluster() {
    asm volatile("barrier.cluster.arrive.relaxed;\nbarrier.cluster.wait;" ::: "memory");
}

// All threads of the cluster wait for each other, and see what they have written.
__device__ inline void sync_cluster() {
    asm volatile("barrier.cluster.arrive;\nbarrier.cluster.wait;" ::: "memory");
}

// What lies in the same place of another block's shared memory.
__device__ inline float4 read_from(const float4& there, int rank) {
    float4 x;
    asm volatile("{\n"
                 ".reg .b32 there;\n"
                 "mapa.shared::cluster.u32 there, %4, %5;\n"
                 "ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [there];\n"
                 "}" : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w)
                 : "r"(shared(&there)), "r"(rank) : "memory");
    return x;
}
// ANCHOR_END: clusters

// ANCHOR: warpgroup
// Some warps wait for each other at one of the block's 16 barriers, of which 0 is __syncthreads's.
template <int THREADS>
__device__ void meet(int barrier) {
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "n"(THREADS) : "memory");
}

// The same for who does not wait for the others.
template <int THREADS>
__device__ void pass(int barrier) {
    asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "n"(THREADS) : "memory");
}

// A warpgroup gives back registers, to keep so many a thread; another one then gets more.
template <int KEPT>
__device__ void keep_registers() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(KEPT));
}

template <int GOT>
__device__ void get_registers() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(GOT));
}
// ANCHOR_END: warpgroup

// ANCHOR: swizzle
// Where a byte of a box lies, whose rows have 128 bytes: of the 16-byte chunks of 8 rows, each row
// has its own order.
__device__ inline int swizzled(int row, int byte) {
    return row * 128 + ((byte / 16 ^ row % 8) * 16 + byte % 16);
}
// ANCHOR_END: swizzle

// ANCHOR: descriptor
// Tells wgmma where its operand lies: rows of 128 bytes, swizzled; how many bytes it is from 8 rows
// to the next 8, and from a box to the next.
__device__ inline unsigned long long descriptor(const void* p, int rows, int box) {
    return (unsigned long long)(shared(p) >> 4 & 0x3fff) | (unsigned long long)(box >> 4) << 16 |
           (unsigned long long)(rows >> 4) << 32 | 1ull << 62;
}
// ANCHOR_END: descriptor

// ANCHOR: products
// Before the first product of a step: the sums, and what the threads hold of A, are ready.
__device__ inline void begin_products() {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

// The products that were begun since the last group are one.
__device__ inline void commit_products() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Until all but the last LEFT groups have been made.
template <int LEFT>
__device__ void await_products() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(LEFT) : "memory");
}
// ANCHOR_END: products

// The types of a product, and the columns of A that it takes: 32 bytes of a row.
#if defined(INPUT_E4M3)
#define WGMMA_TYPES "k32.f32.e4m3.e4m3 "
#elif defined(INPUT_E5M2)
#define WGMMA_TYPES "k32.f32.e5m2.e5m2 "
#elif defined(INPUT_S8)
#define WGMMA_TYPES "k32.s32.s8.s8 "
#elif defined(INPUT_TF32)
#define WGMMA_TYPES "k8.f32.tf32.tf32 "
#elif defined(INPUT_BF16)
#define WGMMA_TYPES "k16.f32.bf16.bf16 "
#else
#define WGMMA_TYPES "k16.f32.f16.f16 "
#endif
// How A and B lie: along K; or B, of 16-bit elements, across it, so that it is transposed on the way.
#if defined(INPUT_E4M3) || defined(INPUT_E5M2) || defined(INPUT_S8) || defined(INPUT_TF32)
#define WGMMA_ALONG_K ""
#define WGMMA_ACROSS_K ""
#else
#define WGMMA_ALONG_K ", 0, 0"
#define WGMMA_ACROSS_K ", 0, 1"
#endif
// A sum, and how the factors' signs are said, which whole numbers keep.
#if defined(INPUT_S8)
using WgmmaSum = int;
#define WGMMA_SUM "+r"
#define WGMMA_SIGNS ""
#else
using WgmmaSum = float;
#define WGMMA_SUM "+f"
#define WGMMA_SIGNS ", 1, 1"
#endif
// Registers by number, and the sums that they are.
#define WGMMA_R8(d, a, b, c, e, f, g, h) \
    "%" #d ", %" #a ", %" #b ", %" #c ", %" #e ", %" #f ", %" #g ", %" #h
#define WGMMA_R32                                                                        \
    WGMMA_R8(0, 1, 2, 3, 4, 5, 6, 7) ", " WGMMA_R8(8, 9, 10, 11, 12, 13, 14, 15) ", "    \
    WGMMA_R8(16, 17, 18, 19, 20, 21, 22, 23) ", " WGMMA_R8(24, 25, 26, 27, 28, 29, 30, 31)
#define WGMMA_R64                                                                        \
    WGMMA_R32 ", " WGMMA_R8(32, 33, 34, 35, 36, 37, 38, 39) ", "                         \
    WGMMA_R8(40, 41, 42, 43, 44, 45, 46, 47) ", "                                        \
    WGMMA_R8(48, 49, 50, 51, 52, 53, 54, 55) ", " WGMMA_R8(56, 57, 58, 59, 60, 61, 62, 63)
#define WGMMA_R96                                                                        \
    WGMMA_R64 ", " WGMMA_R8(64, 65, 66, 67, 68, 69, 70, 71) ", "                         \
    WGMMA_R8(72, 73, 74, 75, 76, 77, 78, 79) ", "                                        \
    WGMMA_R8(80, 81, 82, 83, 84, 85, 86, 87) ", " WGMMA_R8(88, 89, 90, 91, 92, 93, 94, 95)
#define WGMMA_R128                                                                       \
    WGMMA_R96 ", " WGMMA_R8(96, 97, 98, 99, 100, 101, 102, 103) ", "                     \
    WGMMA_R8(104, 105, 106, 107, 108, 109, 110, 111) ", "                                \
    WGMMA_R8(112, 113, 114, 115, 116, 117, 118, 119) ", "                                \
    WGMMA_R8(120, 121, 122, 123, 124, 125, 126, 127)
#define WGMMA_S4(i) \
    WGMMA_SUM(c[i][0]), WGMMA_SUM(c[i][1]), WGMMA_SUM(c[i][2]), WGMMA_SUM(c[i][3])
#define WGMMA_S32(i)                                                            \
    WGMMA_S4(i), WGMMA_S4(i + 1), WGMMA_S4(i + 2), WGMMA_S4(i + 3), WGMMA_S4(i + 4), \
        WGMMA_S4(i + 5), WGMMA_S4(i + 6), WGMMA_S4(i + 7)
// The predicate `add`, from the operand of this number.
#define WGMMA_ADD(operand) "{\n.reg .pred add;\nsetp.ne.b32 add, %" #operand ", 0;\n"

// ANCHOR: multiply
// Begins c = a * b, or c += a * b: 64 rows and 32 bytes of A, as many elements of N columns of B.
// A lies in rows; B along K, in columns, or across it, in rows. Both are told by descriptors.
template <bool ALONG_K, int COLUMNS>
__device__ void multiply(WgmmaSum (&c)[COLUMNS][4], unsigned long long a, unsigned long long b,
                         int add) {
    static_assert(COLUMNS == 8 || COLUMNS == 16 || COLUMNS == 24 || COLUMNS == 32,
                  "a product has 64, 128, 192 or 256 columns");
    if constexpr (COLUMNS == 32 && ALONG_K)
        asm volatile(WGMMA_ADD(130) "wgmma.mma_async.sync.aligned.m64n256" WGMMA_TYPES
                     "{" WGMMA_R128 "}, %128, %129, add" WGMMA_SIGNS WGMMA_ALONG_K ";\n}"
                     : WGMMA_S32(0), WGMMA_S32(8), WGMMA_S32(16), WGMMA_S32(24)
                     : "l"(a), "l"(b), "r"(add));
    if constexpr (COLUMNS == 32 && !ALONG_K)
        asm volatile(WGMMA_ADD(130) "wgmma.mma_async.sync.aligned.m64n256" WGMMA_TYPES
                     "{" WGMMA_R128 "}, %128, %129, add" WGMMA_SIGNS WGMMA_ACROSS_K ";\n}"
                     : WGMMA_S32(0), WGMMA_S32(8), WGMMA_S32(16), WGMMA_S32(24)
                     : "l"(a), "l"(b), "r"(add));
    if constexpr (COLUMNS == 24 && ALONG_K)
        asm volatile(WGMMA_ADD(98) "wgmma.mma_async.sync.aligned.m64n192" WGMMA_TYPES
                     "{" WGMMA_R96 "}, %96, %97, add" WGMMA_SIGNS WGMMA_ALONG_K ";\n}"
                     : WGMMA_S32(0), WGMMA_S32(8), WGMMA_S32(16) : "l"(a), "l"(b), "r"(add));
    if constexpr (COLUMNS == 24 && !ALONG_K)
        asm volatile(WGMMA_ADD(98) "wgmma.mma_async.sync.aligned.m64n192" WGMMA_TYPES
                     "{" WGMMA_R96 "}, %96, %97, add" WGMMA_SIGNS WGMMA_ACROSS_K ";\n}"
                     : WGMMA_S32(0), WGMMA_S32(8), WGMMA_S32(16) : "l"(a), "l"(b), "r"(add));
    if constexpr (COLUMNS == 16 && ALONG_K)
        asm volatile(WGMMA_ADD(66) "wgmma.mma_async.sync.aligned.m64n128" WGMMA_TYPES
                     "{" WGMMA_R64 "}, %64, %65, add" WGMMA_SIGNS WGMMA_ALONG_K ";\n}"
                     : WGMMA_S32(0), WGMMA_S32(8) : "l"(a), "l"(b), "r"(add));
    if constexpr (COLUMNS == 16 && !ALONG_K)
        asm volatile(WGMMA_ADD(66) "wgmma.mma_async.sync.aligned.m64n128" WGMMA_TYPES
                     "{" WGMMA_R64 "}, %64, %65, add" WGMMA_SIGNS WGMMA_ACROSS_K ";\n}"
                     : WGMMA_S32(0), WGMMA_S32(8) : "l"(a), "l"(b), "r"(add));
    if constexpr (COLUMNS == 8 && ALONG_K)
        asm volatile(WGMMA_ADD(34) "wgmma.mma_async.sync.aligned.m64n64" WGMMA_TYPES
                     "{" WGMMA_R32 "}, %32, %33, add" WGMMA_SIGNS WGMMA_ALONG_K ";\n}"
                     : WGMMA_S32(0) : "l"(a), "l"(b), "r"(add));
    if constexpr (COLUMNS == 8 && !ALONG_K)
        asm volatile(WGMMA_ADD(34) "wgmma.mma_async.sync.aligned.m64n64" WGMMA_TYPES
                     "{" WGMMA_R32 "}, %32, %33, add" WGMMA_SIGNS WGMMA_ACROSS_K ";\n}"
                     : WGMMA_S32(0) : "l"(a), "l"(b), "r"(add));
}

// The same where the threads hold A: of each 16 rows a warp's own, 32 bytes.
template <int COLUMNS>
__device__ void multiply(WgmmaSum (&c)[COLUMNS][4], const unsigned (&a)[4], unsigned long long b,
                         int add) {
    static_assert(COLUMNS == 8 || COLUMNS == 16 || COLUMNS == 32,
                  "a product has 64, 128 or 256 columns");
    if constexpr (COLUMNS == 32)
        asm volatile(WGMMA_ADD(133) "wgmma.mma_async.sync.aligned.m64n256" WGMMA_TYPES
                     "{" WGMMA_R128 "}, {%128, %129, %130, %131}, %132, add" WGMMA_SIGNS ";\n}"
                     : WGMMA_S32(0), WGMMA_S32(8), WGMMA_S32(16), WGMMA_S32(24)
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));
    if constexpr (COLUMNS == 16)
        asm volatile(WGMMA_ADD(69) "wgmma.mma_async.sync.aligned.m64n128" WGMMA_TYPES
                     "{" WGMMA_R64 "}, {%64, %65, %66, %67}, %68, add" WGMMA_SIGNS ";\n}"
                     : WGMMA_S32(0), WGMMA_S32(8)
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));
    if constexpr (COLUMNS == 8)
        asm volatile(WGMMA_ADD(37) "wgmma.mma_async.sync.aligned.m64n64" WGMMA_TYPES
                     "{" WGMMA_R32 "}, {%32, %33, %34, %35}, %36, add" WGMMA_SIGNS ";\n}"
                     : WGMMA_S32(0)
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));
}
// ANCHOR_END: multiply

// ANCHOR: fragments
// Two neighbours of a row of C, as bf16 or f16, in one register; the first one in the low half.
__device__ inline unsigned as_bf16x2(float x, float y) {
    unsigned pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(y), "f"(x));
    return pair;
}

__device__ inline unsigned as_f16x2(float x, float y) {
    unsigned pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(y), "f"(x));
    return pair;
}

__device__ inline float from_f16(unsigned short bits) {
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
}

// A warp stores four matrices of 8 x 8 elements of 16 bits; each lane gives the place of one row.
__device__ inline void store_matrices(void* to, const unsigned (&x)[4]) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                 ::"r"(shared(to)), "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]) : "memory");
}
// ANCHOR_END: fragments
