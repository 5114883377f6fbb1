// A product by one warpgroup: a thread asks for boxes of A and B by tensor maps, all wait for their bytes, and multiply them
// by wgmma.
//
//   C = A * B      A is M x K. B is K x N where elements have 16 bits, else it is stored as N x K.
//
//   TYPE_x         bf16, f16, tf32 or e4m3; C has 16 bits where they have, else it is f32

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
constexpr int BM = 64;               // a block's tile of C
constexpr int BN = 128;
constexpr int BK = 128 / sizeof(T);  // a row of a box has 128 bytes

struct alignas(64) Map {
    char bytes[128];
};
struct alignas(1024) Shared {
    T a[BM * BK];
    T b[BK * BN];  // boxes of 64 columns of B, each with BK rows; or BN rows of the stored one
    unsigned long long full;
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

__device__ void load(T* to, const Map& map, int x, int y, unsigned long long& barrier) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], "
        "[%4];" ::"r"(shared(to)),
        "l"(&map), "r"(x), "r"(y), "r"(shared(&barrier))
        : "memory");
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

extern "C" __global__ void __launch_bounds__(128)
kernel(const __grid_constant__ Map map_a, const __grid_constant__ Map map_b, Out* C, int M, int N, int K) {
    extern __shared__ __align__(1024) char raw[];
    Shared& s = *(Shared*)raw;
    int lane = threadIdx.x % 32;
    int warp = threadIdx.x / 32;
    int row = blockIdx.y * BM;
    int col = blockIdx.x * BN;
    if (threadIdx.x == 0) {
        init(s.full, 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    unsigned long long a = descriptor(s.a, 16, 1024);
    unsigned long long b = descriptor(s.b, HALF ? 64 * BK * 2 : 16, 1024);
    float d[BN / 8][4];
    for (int k = 0; k < K; k += BK) {
        if (threadIdx.x == 0) {
            arrive_and_expect(s.full, sizeof(s.a) + sizeof(s.b));
            load(s.a, map_a, k, row, s.full);
            if constexpr (HALF)
                for (int n = 0; n < BN; n += 64)
                    load(s.b + n * BK, map_b, col + n, k, s.full);
            else
                load(s.b, map_b, k, col, s.full);
        }
        wait(s.full, k / BK % 2);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        #pragma unroll
        for (int i = 0; i < 4; ++i)  // 32 bytes of rows of A; of B, so too, or 16 rows
            multiply(d, a + i * 2, b + i * (HALF ? 16 * 128 >> 4 : 2), k + i > 0);
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        __syncthreads();
    }
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
}
