// Arrivals and waits are relaxed, and fences stand before and behind them.

__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ void init(unsigned long long& bar, int count) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at(&bar)), "r"(count) : "memory");
}

extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ float values[64];
    __shared__ unsigned long long bar;
    int t = threadIdx.x;
    if (t == 0) init(bar, 64);
    __syncthreads();

    values[t] = A[t];
    asm volatile("fence.acq_rel.cta;" ::: "memory");
    asm volatile("mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [%0];" ::"r"(at(&bar)) : "memory");
    int done = 0;
    while (!done) {
        asm volatile(
            "{\n.reg .pred p;\nmbarrier.try_wait.parity.relaxed.cta.shared::cta.b64 p, [%1], 0;\nselp.u32 %0, 1, 0, p;\n}"
            : "=r"(done)
            : "r"(at(&bar))
            : "memory");
    }
    asm volatile("fence.acq_rel.cta;" ::: "memory");
    C[t] = values[63 - t];
}
