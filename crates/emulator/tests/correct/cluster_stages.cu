// A ring of two stages in a cluster of two: each block fetches half a stage for both, and gives a stage back by an arrival at
// both blocks' mbarriers that names no scope, as libraries do: it says that it has read,
// and what it read before its proxy fence.

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
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
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

__device__ void fence_proxy() { asm volatile("fence.proxy.async;" ::: "memory"); }

extern "C" __global__ void __cluster_dims__(2, 1, 1) kernel(const float* A, float* C, int steps) {
    __shared__ __align__(16) float row[2][64];
    __shared__ unsigned long long full[2], empty[2];
    int t = threadIdx.x;
    unsigned rank = __clusterRelativeBlockRank();
    if (t == 0) {
        for (int s = 0; s < 2; ++s) {
            init(full[s], 1);
            init(empty[s], 2);
        }
    }
    cluster_sync();

    if (t < 32) {
        for (int k = 0; k < steps; ++k) {
            int s = k % 2;
            if (t == 0) {
                if (k >= 2) wait(empty[s], k / 2 - 1 & 1);
                expect(full[s], sizeof row[s]);
                multicast(row[s] + 32 * rank, A + 64 * k + 32 * rank, 128, full[s], 3);
            }
            __syncwarp();
        }
    } else {
        float sum = 0;
        for (int k = 0; k < steps; ++k) {
            int s = k % 2;
            wait(full[s], k / 2 & 1);
            sum += row[s][t - 32] + row[s][t];
            fence_proxy();
            __syncwarp();
            if (t < 34) {
                asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(peer(&empty[s], t - 32)) : "memory");
            }
        }
        C[blockIdx.x * 32 + t - 32] = sum + rank;
    }
    cluster_sync();
}
