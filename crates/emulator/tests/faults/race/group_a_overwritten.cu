// A's registers get their next value while the product still reads them.

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

__device__ void proxy_fence() { asm volatile("fence.proxy.async;" ::: "memory"); }

__device__ void store(float* C, const float (&d)[4]) {
    int t = threadIdx.x % 128, row = t / 32 * 16 + t % 32 / 4, column = t % 4 * 2;
    for (int i = 0; i < 4; ++i) C[(row + i / 2 * 8) * 8 + column + i % 2] = d[i];
}

extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ __align__(128) float Bs[64];
    int t = threadIdx.x;
    if (t < 64) Bs[t] = A[t];
    proxy_fence();
    __syncthreads();
    float d[4] = {};
    unsigned a = __float_as_uint(A[t % 64]);
    fence();
    asm volatile(
        "{\n.reg .b32 a<4>;\nmov.b32 a0, %4;\nmov.b32 a1, %4;\nmov.b32 a2, %4;\nmov.b32 a3, %4;\n"
        "wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {%0, %1, %2, %3}, {a0, a1, a2, a3}, %5, 1, 1, 1;\n"
        "add.u32 a0, a0, 4096;\nmov.b32 %4, a0;\n}"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+r"(a)
        : "l"(describe(Bs))
        : "memory");
    commit();
    wait_group<0>();
    d[0] += __uint_as_float(a);
    store(C, d);
}
