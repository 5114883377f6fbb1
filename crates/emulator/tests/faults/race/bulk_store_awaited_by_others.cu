// Each thread waits for its own groups, and only one has any.

__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ void fence_proxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

__device__ void store(void* to, const void* from, int bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(at(from)), "r"(bytes)
                 : "memory");
}

__device__ void commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

__device__ void wait_read() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }

extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ __align__(128) float tile[64];
    int t = threadIdx.x;
    for (int round = 0; round < 2; ++round) {
        tile[t] = A[t] + round;
        fence_proxy();
        __syncthreads();
        if (t == 0) {
            store(C, tile, sizeof(tile));
            commit();
        }
        if (t != 0) wait_read();
        __syncthreads();
    }
}
