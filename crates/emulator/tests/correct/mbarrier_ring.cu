// A producer and a consumer warp, a ring of two stages, an mbarrier for each that is full and for each that is empty. The
// producer's first waits are for the phase before the first, which counts as complete.

__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ void init(unsigned long long& bar, int count) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at(&bar)), "r"(count) : "memory");
}

__device__ unsigned long long arrive(unsigned long long& bar) {
    unsigned long long state;
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(at(&bar)) : "memory");
    return state;
}

__device__ void wait(unsigned long long& bar, int parity) {
    asm volatile(
        "{\n.reg .pred done;\nAGAIN:\nmbarrier.test_wait.parity.shared.b64 done, [%0], %1;\n@!done bra AGAIN;\n}" ::"r"(
            at(&bar)),
        "r"(parity)
        : "memory");
}

extern "C" __global__ void kernel(const float* A, float* C, int steps) {
    __shared__ float stages[2][32];
    __shared__ unsigned long long full[2], empty[2];
    int t = threadIdx.x % 32;
    if (threadIdx.x == 0) {
        for (int s = 0; s < 2; ++s) {
            init(full[s], 32);
            init(empty[s], 32);
        }
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        for (int step = 0; step < steps; ++step) {
            wait(empty[step % 2], step / 2 % 2 ^ 1);
            stages[step % 2][t] = A[32 * step + t];
            arrive(full[step % 2]);
        }
    } else {
        float sum = 0;
        for (int step = 0; step < steps; ++step) {
            wait(full[step % 2], step / 2 % 2);
            sum += stages[step % 2][31 - t];
            arrive(empty[step % 2]);
        }
        C[t] = sum;
    }
}
