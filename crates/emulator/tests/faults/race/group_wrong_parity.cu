// The wait is for the phase before the first, which counts as complete.

__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

// Core matrices of 8 rows by 16 bytes, two for K side by side.
__device__ unsigned long long describe(const void* start) {
    return (at(start) & 0x3ffff) >> 4 | (unsigned long long)(128 >> 4) << 16 | (unsigned long long)(256 >> 4) << 32;
}

__device__ void fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

__device__ void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

template <int left>
__device__ void wait_group() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(left) : "memory");
}

__device__ void multiply(float (&d)[4], unsigned long long a, unsigned long long b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {%0, %1, %2, %3}, %4, %5, 1, 1, 1;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "l"(a), "l"(b)
                 : "memory");
}

__device__ void init(unsigned long long& bar, int count) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at(&bar)), "r"(count) : "memory");
}

__device__ void fence_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

__device__ void arrive_and_expect(unsigned long long& bar, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at(&bar)), "r"(bytes) : "memory");
}

__device__ void load(void* to, const void* from, int bytes, unsigned long long& bar) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(at(to)),
                 "l"(from), "r"(bytes), "r"(at(&bar))
                 : "memory");
}

__device__ void wait(unsigned long long& bar, int parity) {
    asm volatile(
        "{\n.reg .pred done;\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra AGAIN;\n}" ::"r"(
            at(&bar)),
        "r"(parity)
        : "memory");
}

__device__ void store(float* C, const float (&d)[4]) {
    int t = threadIdx.x % 128, row = t / 32 * 16 + t % 32 / 4, column = t % 4 * 2;
    for (int i = 0; i < 4; ++i) C[(row + i / 2 * 8) * 8 + column + i % 2] = d[i];
}

extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ __align__(128) float As[512], Bs[64];
    __shared__ unsigned long long bar;
    int t = threadIdx.x;
    if (t == 0) {
        init(bar, 1);
        fence_init();
    }
    __syncthreads();
    if (t == 0) {
        arrive_and_expect(bar, sizeof(As) + sizeof(Bs));
        load(As, A, sizeof(As), bar);
        load(Bs, A, sizeof(Bs), bar);
    }
    wait(bar, 1);
    float d[4] = {};
    fence();
    multiply(d, describe(As), describe(Bs));
    commit();
    wait_group<0>();
    store(C, d);
}
