// A block arrives at the cluster barrier and reads its peer's shared memory before it waits.

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

__device__ void store(unsigned there, float value) {
    asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(there), "f"(value) : "memory");
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) kernel(const float* A, float* C) {
    __shared__ float value[32];
    int t = threadIdx.x;
    unsigned rank = __clusterRelativeBlockRank();
    cluster_sync();
    value[t] = A[blockIdx.x * 32 + t];
    asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");
    float theirs = load(peer(&value[31 - t], rank ^ 1));
    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
    cluster_sync();
    C[blockIdx.x * 32 + t] = theirs;
}
