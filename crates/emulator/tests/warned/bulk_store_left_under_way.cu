// One thread copies a tile out, and its block leaves without a wait: the copy may still read the tile.

__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ void fence_proxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

__device__ void store(void* to, const void* from, int bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(at(from)), "r"(bytes)
                 : "memory");
}

__device__ void commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ __align__(128) float tile[64];
    int t = threadIdx.x;
    tile[63 - t] = 2 * A[t];
    fence_proxy();
    __syncthreads();
    if (t == 0) {
        store(C, tile, sizeof(tile));
        commit();
    }
}
