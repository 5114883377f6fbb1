// The address of a peer's shared memory, in a load that is for own shared memory alone.

__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ unsigned peer(const void* p, unsigned rank) {
    unsigned there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(at(p)), "r"(rank));
    return there;
}

__device__ void cluster_sync() {
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}

__device__ float load(unsigned there) {
    float value;
    asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(value) : "r"(there) : "memory");
    return value;
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) kernel(const float* A, float* C) {
    __shared__ float value[32];
    int t = threadIdx.x;
    unsigned rank = __clusterRelativeBlockRank();
    value[t] = A[blockIdx.x * 32 + t];
    cluster_sync();
    float got;
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(got) : "r"(peer(&value[t], rank ^ 1)) : "memory");
    cluster_sync();
    C[blockIdx.x * 32 + t] = got;
}
