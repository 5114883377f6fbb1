// A block stores to global memory and says so by a flag, and another one copies from there in bulk: the flag orders threads,
// and no proxy fence the copy.

__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

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

extern "C" __global__ void kernel(const float* A, int* ready, float* C) {
    __shared__ __align__(128) float tile[64];
    __shared__ unsigned long long bar;
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        C[t] = 2 * A[t];
        __syncthreads();
        if (t == 0) {
            __threadfence();
            atomicExch(ready, 1);
        }
        return;
    }
    if (t == 0) {
        init(bar, 1);
        fence_init();
        while (atomicAdd(ready, 0) == 0) {}
        __threadfence();
        arrive_and_expect(bar, sizeof(tile));
        load(tile, C, sizeof(tile), bar);
    }
    __syncthreads();
    wait(bar, 0);
    C[64 + t] = tile[63 - t];
}
