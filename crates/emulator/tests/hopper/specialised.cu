// A product by specialised warps: one thread asks for boxes of A and B by tensor maps, two warpgroups multiply them by
// wgmma, and a ring of barriers stands between them.
//
//   C = A * B      A is M x K. B is K x N where elements have 16 bits, else it is stored as N x K.
//
//   TYPE_x         bf16, f16, tf32 or e4m3; C has 16 bits where they have, else it is f32
//   CLUSTER        blocks of a cluster: each loads a part of B for all of them, and a tile of A of its own
//   PERSISTENT     1: a block goes on to further tiles, and stores C by boxes while it multiplies the next one

#if defined(TYPE_bf16) || defined(TYPE_f16)
typedef unsigned short T;
typedef unsigned short Out;
#elif defined(TYPE_tf32)
typedef float T;
typedef float Out;
#else
typedef unsigned char T;
typedef float Out;
#endif
constexpr bool HALF = sizeof(T) == 2;
constexpr int BM = 128;              // a block's tile of C
constexpr int BN = 128;
constexpr int BK = 128 / sizeof(T);  // a row of a box has 128 bytes
constexpr int STAGES = 3;
constexpr int GROUPS = BM / 64;      // warpgroups that multiply
constexpr int PART = BN / CLUSTER;   // of B, for each block of a cluster
constexpr int WIDTH = 128 / sizeof(Out);  // columns of a box of C

struct alignas(64) Map {
    char bytes[128];
};
struct alignas(1024) Stage {
    T a[BM * BK];
    T b[BK * BN];  // boxes of 64 columns of B, each with BK rows; or BN rows of the stored one
};
struct Shared {
    Stage stages[STAGES];
    Out c[GROUPS][2][64 * WIDTH];
    unsigned long long full[STAGES];
    unsigned long long empty[STAGES];
};

__device__ unsigned shared(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ void init(unsigned long long& barrier, int count) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared(&barrier)), "r"(count) : "memory");
}

__device__ void arrive_and_expect(unsigned long long& barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(shared(&barrier)), "r"(bytes) : "memory");
}

__device__ void wait(unsigned long long& barrier, int parity) {
    asm volatile(
        "{\n.reg .pred done;\nAGAIN:\nmbarrier.try_wait.parity.shared.b64 done, [%0], %1;\n@!done bra AGAIN;\n}" ::"r"(
            shared(&barrier)),
        "r"(parity)
        : "memory");
}

// In the block of this rank.
__device__ void arrive(unsigned long long& barrier, int rank) {
#if CLUSTER > 1
    asm volatile(
        "{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %0, %1;\n"
        "mbarrier.arrive.shared::cluster.b64 _, [there];\n}" ::"r"(shared(&barrier)),
        "r"(rank)
        : "memory");
#else
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(shared(&barrier)) : "memory");
#endif
}

__device__ void load(T* to, const Map& map, int x, int y, unsigned long long& barrier) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], "
        "[%4];" ::"r"(shared(to)),
        "l"(&map), "r"(x), "r"(y), "r"(shared(&barrier))
        : "memory");
}

// To all blocks of the cluster, each of which has a barrier at this place.
__device__ void load_for_all(T* to, const Map& map, int x, int y, unsigned long long& barrier) {
#if CLUSTER > 1
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
        "[%1, {%2, %3}], [%4], %5;" ::"r"(shared(to)),
        "l"(&map), "r"(x), "r"(y), "r"(shared(&barrier)), "h"((unsigned short)((1 << CLUSTER) - 1))
        : "memory");
#else
    load(to, map, x, y, barrier);
#endif
}

__device__ void store(const Map& map, int x, int y, const Out* from) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map),
                 "r"(x), "r"(y), "r"(shared(from))
                 : "memory");
}

// All threads of the cluster, or of the block.
__device__ void meet() {
#if CLUSTER > 1
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
#else
    __syncthreads();
#endif
}

// Of a matrix in shared memory with rows of 128 bytes, swizzled: bytes from one box to the next, and from 8 rows to the next 8.
__device__ unsigned long long descriptor(const T* p, int box, int rows) {
    return (unsigned long long)(shared(p) >> 4 & 0x3fff) | (unsigned long long)(box >> 4) << 16 |
           (unsigned long long)(rows >> 4) << 32 | 1ull << 62;
}

#define FOUR(i) "+f"(d[i][0]), "+f"(d[i][1]), "+f"(d[i][2]), "+f"(d[i][3])
#define SIXTEEN(i) FOUR(i), FOUR(i + 1), FOUR(i + 2), FOUR(i + 3)
#if defined(TYPE_bf16)
#define FORM "m64n128k16.f32.bf16.bf16"
#define TAIL ", 1, 1, 0, 1"
#elif defined(TYPE_f16)
#define FORM "m64n128k16.f32.f16.f16"
#define TAIL ", 1, 1, 0, 1"
#elif defined(TYPE_tf32)
#define FORM "m64n128k8.f32.tf32.tf32"
#define TAIL ", 1, 1"
#else
#define FORM "m64n128k32.f32.e4m3.e4m3"
#define TAIL ", 1, 1"
#endif

// d = a * b, or d += a * b.
__device__ void multiply(float (&d)[BN / 8][4], unsigned long long a, unsigned long long b, bool add) {
    asm volatile(
        "{\n.reg .pred add;\nsetp.ne.b32 add, %66, 0;\nwgmma.mma_async.sync.aligned." FORM
        " {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, "
        "%22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, "
        "%42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, "
        "%62, %63}, %64, %65, add" TAIL ";\n}"
        : SIXTEEN(0), SIXTEEN(4), SIXTEEN(8), SIXTEEN(12)
        : "l"(a), "l"(b), "r"((int)add));
}

__device__ unsigned pair(float low, float high) {
    unsigned bits;
#if defined(TYPE_f16)
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
#else
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
#endif
    return bits;
}

// A place in the ring, and the phase of its barriers.
struct Ring {
    int at = 0;
    int phase = 0;
    __device__ void next() {
        if (++at == STAGES) {
            at = 0;
            phase ^= 1;
        }
    }
};

extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__((GROUPS + 1) * 128, 1)
kernel(const __grid_constant__ Map map_a, const __grid_constant__ Map map_b, const __grid_constant__ Map map_c, Out* C,
       int M, int N, int K) {
    extern __shared__ __align__(1024) char raw[];
    Shared& s = *(Shared*)raw;
    int group = threadIdx.x / 128;
    unsigned rank = 0;
#if CLUSTER > 1
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; ++i) {
            init(s.full[i], 1);
            init(s.empty[i], GROUPS * CLUSTER);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    meet();
    // A cluster has tiles below each other.
    int down = (M + BM * CLUSTER - 1) / (BM * CLUSTER);
    int tiles = down * ((N + BN - 1) / BN);
    int steps = (K + BK - 1) / BK;
    int first = blockIdx.x / CLUSTER;
    int stride = PERSISTENT ? gridDim.x / CLUSTER : tiles;
    Ring ring;
    if (group == GROUPS) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == GROUPS * 128)
            for (int tile = first; tile < tiles; tile += stride) {
                int row = (tile % down * CLUSTER + rank) * BM;
                int col = tile / down * BN;
                for (int step = 0; step < steps; ++step, ring.next()) {
                    Stage& stage = s.stages[ring.at];
                    unsigned long long& full = s.full[ring.at];
                    wait(s.empty[ring.at], ring.phase ^ 1);
                    arrive_and_expect(full, sizeof(Stage));
                    load(stage.a, map_a, step * BK, row, full);
                    if constexpr (HALF)
                        #pragma unroll
                        for (int n = rank * PART; n < (rank + 1) * PART; n += 64)
                            load_for_all(stage.b + n * BK, map_b, col + n, step * BK, full);
                    else
                        load_for_all(stage.b + rank * PART * BK, map_b, step * BK, col + rank * PART, full);
                }
            }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        int lane = threadIdx.x % 32;
        int warp = threadIdx.x % 128 / 32;
        bool leader = threadIdx.x % 128 == 0;
        auto give_back = [&](int stage) {
            if (threadIdx.x % 128 < CLUSTER)
                arrive(s.empty[stage], threadIdx.x % 128);
        };
        float d[BN / 8][4];
        [[maybe_unused]] int buffer = 0;
        for (int tile = first; tile < tiles; tile += stride) {
            int row = (tile % down * CLUSTER + rank) * BM + group * 64;
            int col = tile / down * BN;
            int before = 0;
            for (int step = 0; step < steps; ++step, ring.next()) {
                wait(s.full[ring.at], ring.phase);
                const Stage& stage = s.stages[ring.at];
                unsigned long long a = descriptor(stage.a + group * 64 * BK, 16, 1024);
                unsigned long long b = descriptor(stage.b, HALF ? 64 * BK * 2 : 16, 1024);
                asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
                #pragma unroll
                for (int i = 0; i < 4; ++i)  // 32 bytes of rows of A; of B, so too, or 16 rows
                    multiply(d, a + i * 2, b + i * (HALF ? 16 * 128 >> 4 : 2), step + i > 0);
                asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
                asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
                if (step > 0)
                    give_back(before);
                before = ring.at;
            }
            asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
            give_back(before);
#if PERSISTENT
            #pragma unroll
            for (int i = 0; i < BN / WIDTH; ++i) {
                Out* out = s.c[group][buffer];
                if (leader)
                    asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
                asm volatile("bar.sync %0, 128;" ::"r"(group + 1) : "memory");
                #pragma unroll
                for (int j = 0; j < WIDTH / 16; ++j) {
                    float(&x)[4] = d[i * WIDTH / 8 + 2 * j];
                    float(&y)[4] = d[i * WIDTH / 8 + 2 * j + 1];
                    if constexpr (HALF) {
                        int r = warp * 16 + lane % 16;
                        unsigned to = shared(out) + r * 128 + (2 * j + lane / 16 ^ r % 8) * 16;
                        asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to),
                                     "r"(pair(x[0], x[1])), "r"(pair(x[2], x[3])), "r"(pair(y[0], y[1])),
                                     "r"(pair(y[2], y[3]))
                                     : "memory");
                    } else {
                        #pragma unroll
                        for (int h = 0; h < 4; ++h) {
                            int r = warp * 16 + h % 2 * 8 + lane / 4;
                            int at = (4 * j + h / 2 * 2 + lane % 4 / 2 ^ r % 8) * 4 + lane % 2 * 2;
                            float* from = (h < 2 ? x : y) + h % 2 * 2;
                            *(float2*)&out[r * WIDTH + at] = make_float2(from[0], from[1]);
                        }
                    }
                }
                asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
                asm volatile("bar.sync %0, 128;" ::"r"(group + 1) : "memory");
                if (leader) {
                    store(map_c, col + i * WIDTH, row, out);
                    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
                }
                buffer ^= 1;
            }
#else
            #pragma unroll
            for (int i = 0; i < BN / 8; ++i)
                #pragma unroll
                for (int h = 0; h < 2; ++h) {
                    int r = row + warp * 16 + h * 8 + lane / 4;
                    int c = col + i * 8 + lane % 4 * 2;
                    if (r < M && c < N) {
                        if constexpr (HALF)
                            *(unsigned*)&C[r * N + c] = pair(d[i][2 * h], d[i][2 * h + 1]);
                        else
                            *(float2*)&C[r * N + c] = make_float2(d[i][2 * h], d[i][2 * h + 1]);
                    }
                }
#endif
        }
        if (PERSISTENT && leader)
            asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
    if (CLUSTER > 1)
        meet();  // nobody leaves while others may reach into its shared memory
}
