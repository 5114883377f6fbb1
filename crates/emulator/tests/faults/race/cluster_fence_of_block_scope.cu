// A flag in the peer's shared memory, behind a fence of the block: it does not reach the peer.

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
    __shared__ int flag;
    int t = threadIdx.x;
    unsigned rank = __clusterRelativeBlockRank();
    if (t == 0) flag = 0;
    cluster_sync();

    if (rank == 1) {
        store(peer(&value[t], 0), A[t]);
        __syncwarp();
        __threadfence_block();
        if (t == 0) {
            asm volatile("st.relaxed.cluster.shared::cluster.s32 [%0], 1;" ::"r"(peer(&flag, 0)) : "memory");
        }
    } else {
        int seen = 0;
        while (seen == 0) {
            asm volatile("ld.relaxed.cluster.shared::cta.s32 %0, [%1];" : "=r"(seen) : "r"(at(&flag)) : "memory");
        }
        asm volatile("fence.acq_rel.cluster;" ::: "memory");
        C[t] = value[31 - t];
    }
    cluster_sync();
}
