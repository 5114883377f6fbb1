// The sums are stored before the product is done.

__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

// Core matrices of 8 rows by 16 bytes, two for K side by side.
__device__ unsigned long long describe(const void* start) {
    return (at(start) & 0x3ffff) >> 4 | (unsigned long long)(128 >> 4) << 16 | (unsigned long long)(256 >> 4) << 32;
}

__device__ void fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

__device__ void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

template <int left>
__device__ void wait_group() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(left) : "memory");
}

__device__ void multiply(float (&d)[4], unsigned long long a, unsigned long long b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {%0, %1, %2, %3}, %4, %5, 1, 1, 1;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "l"(a), "l"(b)
                 : "memory");
}

__device__ void proxy_fence() { asm volatile("fence.proxy.async;" ::: "memory"); }

__device__ void store(float* C, const float (&d)[4]) {
    int t = threadIdx.x % 128, row = t / 32 * 16 + t % 32 / 4, column = t % 4 * 2;
    for (int i = 0; i < 4; ++i) C[(row + i / 2 * 8) * 8 + column + i % 2] = d[i];
}

extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ __align__(128) float As[512], Bs[64];
    int t = threadIdx.x;
    for (int i = t; i < 512; i += 128) As[i] = A[i % 64];
    if (t < 64) Bs[t] = A[t];
    proxy_fence();
    __syncthreads();
    float d[4] = {};
    fence();
    multiply(d, describe(As), describe(Bs));
    commit();
    store(C, d);
    wait_group<0>();
}
