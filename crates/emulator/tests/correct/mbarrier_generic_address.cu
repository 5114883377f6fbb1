// The address of an mbarrier, and a count of arrivals that one thread makes at once.

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
    __syncthreads();
    if (t == 5) asm volatile("mbarrier.arrive.release.cta.b64 _, [%0], 64;" ::"l"(&bar) : "memory");
    int done = 0;
    while (!done) {
        asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.b64 p, [%1], 0, 100;\nselp.u32 %0, 1, 0, p;\n}"
                     : "=r"(done)
                     : "l"(&bar)
                     : "memory");
    }
    C[t] = values[63 - t];
}
