// Nobody initialises the mbarrier.

__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ unsigned long long arrive(unsigned long long& bar) {
    unsigned long long state;
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(at(&bar)) : "memory");
    return state;
}

__device__ void wait(unsigned long long& bar, unsigned long long state) {
    asm volatile(
        "{\n.reg .pred done;\nAGAIN:\nmbarrier.test_wait.shared.b64 done, [%0], %1;\n@!done bra AGAIN;\n}" ::"r"(at(&bar)),
        "l"(state)
        : "memory");
}

extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ unsigned long long bar;
    wait(bar, arrive(bar));
    C[threadIdx.x] = A[threadIdx.x];
}
