// As group_product, but the proxy fences stand behind the barrier: none of a thread lies between its stores and the barrier.

__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ unsigned long long describe(const void* start) {
    return (at(start) & 0x3ffff) >> 4 | 1ull << 16 | (unsigned long long)(1024 >> 4) << 32 | 1ull << 62;
}

__device__ void fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
__device__ void wait() { asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory"); }
__device__ void proxy_fence() { asm volatile("fence.proxy.async;" ::: "memory"); }

__device__ void multiply(float (&d)[8], unsigned long long a, unsigned long long b) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7}, %8, %9, 1, 1, 1, 0, 0;"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
        : "l"(a), "l"(b));
}

__device__ unsigned short narrow(float x) { return __float_as_uint(x) >> 16; }

// Element k of row r in the pattern of 128 bytes.
__device__ int place(int r, int k) { return r * 64 + ((k / 8 ^ r % 8) * 8 + k % 8); }

extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ __align__(1024) unsigned short As[64 * 64], Bs[16 * 64];
    int t = threadIdx.x;
    for (int i = t; i < 64 * 64; i += 128) As[place(i / 64, i % 64)] = narrow(A[i / 64 % 8] + A[i % 64 % 4]);
    for (int i = t; i < 16 * 64; i += 128) Bs[place(i / 64, i % 64)] = narrow(A[i / 64 % 4] + A[i % 64 % 8]);
    __syncthreads();
    proxy_fence();
    float d[8] = {};
    fence();
    for (int k = 0; k < 64; k += 16) multiply(d, describe(As + k), describe(Bs + k));
    commit();
    wait();
    for (int i = 0; i < 8; ++i) {
        int row = t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8, column = i / 4 * 8 + t % 4 * 2 + i % 2;
        C[row * 16 + column] = d[i];
    }
}
