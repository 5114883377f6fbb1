// The arrival is relaxed, and no fence stands before it.

__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ void init(unsigned long long& bar, int count) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at(&bar)), "r"(count) : "memory");
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
    if (t == 0) init(bar, 64);
    __syncthreads();

    values[t] = A[t];
    asm volatile("mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [%0];" ::"r"(at(&bar)) : "memory");
    wait(bar, 0);
    C[t] = values[63 - t];
}
