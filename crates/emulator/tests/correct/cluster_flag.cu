// A flag in a peer's shared memory: a release and an acquire of the cluster order what lies before and behind.

__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ unsigned peer(const void* p, unsigned rank) {
    unsigned there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(at(p)), "r"(rank));
    return there;
}

__device__ void cluster_sync() {
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) kernel(const float* A, float* C) {
    __shared__ float value[32];
    __shared__ int flag;
    int t = threadIdx.x;
    unsigned rank = __clusterRelativeBlockRank();
    if (t == 0) flag = 0;
    cluster_sync();

    if (rank == 1) {
        asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(peer(&value[t], 0)), "f"(A[t]) : "memory");
        __syncwarp();
        if (t == 0) {
            asm volatile("st.release.cluster.shared::cluster.s32 [%0], 1;" ::"r"(peer(&flag, 0)) : "memory");
        }
    } else {
        int seen = 0;
        while (seen == 0) {
            asm volatile("ld.acquire.cluster.shared::cta.s32 %0, [%1];" : "=r"(seen) : "r"(at(&flag)) : "memory");
        }
        C[t] = value[31 - t];
    }
    cluster_sync();
}
