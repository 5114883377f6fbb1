// Each thread expects more than a megabyte.

__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ void init(unsigned long long& bar, int count) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at(&bar)), "r"(count) : "memory");
}

__device__ void arrive_and_expect(unsigned long long& bar, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at(&bar)), "r"(bytes) : "memory");
}

extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ float values[64];
    __shared__ unsigned long long bar;
    int t = threadIdx.x;
    if (t == 0) init(bar, 64);
    __syncthreads();

    arrive_and_expect(bar, 1 << 20);
    C[t] = A[t];
}
