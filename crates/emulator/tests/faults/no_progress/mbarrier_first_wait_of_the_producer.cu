// The producer's first wait is for a phase that the consumer completes, and not for the one before.

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

extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ float value[32];
    __shared__ unsigned long long full, empty;
    int t = threadIdx.x % 32;
    if (threadIdx.x == 0) {
        init(full, 32);
        init(empty, 32);
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        for (int step = 0; step < 3; ++step) {
            wait(empty, step % 2);
            value[t] = A[t] + step;
            arrive(full);
        }
    } else {
        for (int step = 0; step < 3; ++step) {
            wait(full, step % 2);
            C[t] = value[31 - t];
            arrive(empty);
        }
    }
}
