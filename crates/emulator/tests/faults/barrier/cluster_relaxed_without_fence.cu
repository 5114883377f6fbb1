// A relaxed cluster barrier behind the initialisation of an mbarrier, without the fence that goes before it.

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

__device__ void wait(unsigned long long& bar, int parity) {
    asm volatile(
        "{\n.reg .pred done;\nAGAIN:\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n@!done bra AGAIN;\n}" ::"r"(
            at(&bar)),
        "r"(parity)
        : "memory");
}

__device__ void arrive_at(unsigned there) {
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(there) : "memory");
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) kernel(const float* A, float* C) {
    __shared__ unsigned long long full;
    int t = threadIdx.x;
    unsigned rank = __clusterRelativeBlockRank();
    if (t == 0) asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(at(&full)) : "memory");
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
    if (t == 0) arrive_at(peer(&full, rank ^ 1));
    __syncthreads();
    wait(full, 0);
    C[blockIdx.x * 32 + t] = A[t];
    cluster_sync();
}
