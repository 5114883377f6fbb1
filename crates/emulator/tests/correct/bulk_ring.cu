// A ring of two stages: a thread of the first warp loads, the second warp reads, and one of its lanes gives a stage back.
// Each reader has a proxy fence behind its reads.

__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ void init(unsigned long long& bar, int count) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at(&bar)), "r"(count) : "memory");
}

__device__ void fence_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

__device__ unsigned long long arrive(unsigned long long& bar) {
    unsigned long long state;
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(at(&bar)) : "memory");
    return state;
}

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

__device__ void fence_proxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

extern "C" __global__ void kernel(const float* A, float* C, int steps) {
    __shared__ __align__(128) float stages[2][32];
    __shared__ unsigned long long full[2], empty[2];
    int t = threadIdx.x;
    if (t == 0) {
        for (int s = 0; s < 2; ++s) {
            init(full[s], 1);
            init(empty[s], 1);
        }
        fence_init();
    }
    __syncthreads();
    if (t == 0) {
        for (int step = 0; step < steps; ++step) {
            int s = step % 2;
            wait(empty[s], step / 2 % 2 ^ 1);
            arrive_and_expect(full[s], sizeof(stages[s]));
            load(stages[s], A + 32 * step, sizeof(stages[s]), full[s]);
        }
    } else if (t >= 32) {
        float sum = 0;
        for (int step = 0; step < steps; ++step) {
            int s = step % 2;
            wait(full[s], step / 2 % 2);
            sum += stages[s][63 - t];
            fence_proxy();
            __syncwarp();
            if (t == 32) arrive(empty[s]);
        }
        C[t - 32] = sum;
    }
}
