// The array has one element less than is written: the last store goes into the mbarrier behind it.

__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ void init(unsigned long long& bar, int count) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at(&bar)), "r"(count) : "memory");
}

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
    __shared__ struct {
        float values[62];
        unsigned long long bar;
    } s;
    int t = threadIdx.x;
    if (t == 0) init(s.bar, 64);
    __syncthreads();
    s.values[t] = A[t];
    wait(s.bar, arrive(s.bar));
    C[t] = s.values[63 - t];
}
