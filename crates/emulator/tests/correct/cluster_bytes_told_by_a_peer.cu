// A block stores to its peer and says so by complete_tx at the peer's mbarrier, behind an arrival that is a release; the peer
// leaves once its phase is complete.

__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ unsigned peer(const void* p, unsigned rank) {
    unsigned there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(at(p)), "r"(rank));
    return there;
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) kernel(const float* A, float* C) {
    __shared__ float value[32];
    __shared__ unsigned long long full;
    int t = threadIdx.x;
    unsigned rank = __clusterRelativeBlockRank();
    if (t == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 32;" ::"r"(at(&full)) : "memory");
        asm volatile("mbarrier.expect_tx.relaxed.cta.shared.b64 [%0], 128;" ::"r"(at(&full)) : "memory");
    }
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");

    asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(peer(&value[t], rank ^ 1)), "f"(A[blockIdx.x * 32 + t]) : "memory");
    unsigned there = peer(&full, rank ^ 1);
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(there) : "memory");
    asm volatile("mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%0], 4;" ::"r"(there) : "memory");
    asm volatile(
        "{\n.reg .pred done;\nAGAIN:\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], 0;\n@!done bra AGAIN;\n}" ::"r"(
            at(&full))
        : "memory");
    C[blockIdx.x * 32 + t] = value[31 - t];
}
