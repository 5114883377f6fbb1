// A thread says how many bytes are expected and another one that they are there: it orders them as an arrival does.

__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ void init(unsigned long long& bar, int count) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at(&bar)), "r"(count) : "memory");
}

__device__ void expect(unsigned long long& bar, int bytes) {
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(at(&bar)), "r"(bytes) : "memory");
}

__device__ void complete(unsigned long long& bar, int bytes) {
    asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(at(&bar)), "r"(bytes) : "memory");
}

__device__ unsigned long long arrive(unsigned long long& bar) {
    unsigned long long state;
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(at(&bar)) : "memory");
    return state;
}

__device__ void wait(unsigned long long& bar, int parity) {
    asm volatile(
        "{\n.reg .pred done;\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra AGAIN;\n}" ::"r"(
            at(&bar)),
        "r"(parity)
        : "memory");
}

extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ float values[64];
    __shared__ unsigned long long bar;
    int t = threadIdx.x;
    if (t == 0) init(bar, 1);
    __syncthreads();

    if (t == 0) expect(bar, 64);
    __syncthreads();
    values[t] = A[t];
    __syncwarp();
    __syncthreads();
    if (t == 33) complete(bar, 64);
    if (t == 32) arrive(bar);
    wait(bar, 0);
    C[t] = values[63 - t];
}
