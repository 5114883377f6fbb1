// A block copies to both of its cluster and tells their mbarriers: no fence follows their beginning, in any block.

__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ unsigned peer(const void* p, unsigned rank) {
    unsigned there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(at(p)), "r"(rank));
    return there;
}

__device__ void cluster_sync() {
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}

__device__ void init(unsigned long long& bar, int count) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at(&bar)), "r"(count) : "memory");
}

__device__ void expect(unsigned long long& bar, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(at(&bar)), "r"(bytes) : "memory");
}

__device__ void wait(unsigned long long& bar, int parity) {
    asm volatile(
        "{\n.reg .pred done;\nAGAIN:\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n@!done bra AGAIN;\n}" ::"r"(
            at(&bar)),
        "r"(parity)
        : "memory");
}

__device__ void multicast(void* to, const void* from, int bytes, unsigned long long& bar, unsigned short mask) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;" ::"r"(
            at(to)),
        "l"(from), "r"(bytes), "r"(at(&bar)), "h"(mask)
        : "memory");
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) kernel(const float* A, float* C) {
    __shared__ __align__(16) float row[32];
    __shared__ unsigned long long full;
    int t = threadIdx.x;
    unsigned rank = __clusterRelativeBlockRank();
    if (t == 0) init(full, 1);
    cluster_sync();

    if (t == 0) {
        expect(full, sizeof row);
        if (rank == 1) multicast(row, A + blockIdx.x / 2 * 32, sizeof row, full, (1 << 2) - 1);
    }
    wait(full, 0);
    C[blockIdx.x * 32 + t] = row[t] + 100 * rank;
    cluster_sync();
}
