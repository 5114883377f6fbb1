// A block that nobody visits any more leaves, and its threads count as arrived at the barriers of the others.

__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ unsigned peer(const void* p, unsigned rank) {
    unsigned there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(at(p)), "r"(rank));
    return there;
}

__device__ void cluster_sync() {
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}

extern "C" __global__ void __cluster_dims__(4, 1, 1) kernel(const float* A, float* C) {
    __shared__ float value[32];
    int t = threadIdx.x;
    unsigned rank = __clusterRelativeBlockRank();
    value[t] = A[blockIdx.x * 32 + t];
    cluster_sync();
    if (rank == 3) {
        C[blockIdx.x * 32 + t] = 0;
        return;
    }
    float got;
    asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(got) : "r"(peer(&value[t], (rank + 1) % 3)) : "memory");
    cluster_sync();
    C[blockIdx.x * 32 + t] = got;
}
