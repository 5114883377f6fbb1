// hazard: the multicast completes at both blocks' barriers; block 1 never arrives there nor announces the bytes
// source: https://github.com/facebookexperimental/triton/pull/908
// verdict: wrong
// wrong at: WAIT_CLUSTER(full[i], s / 2 % 2);
// order: every order
// expect: hang | barrier
// launch: --arch compute_90a --grid 2 --block 160 --arg in:f32[1024]=range --arg out:f32[1024] --arg steps:i32=8 --expect out=range

#define AT(p) ((unsigned)__cvta_generic_to_shared(p))
#define INIT(bar, count) asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(AT(&(bar))), "r"(count) : "memory")
#define FENCE_INIT() asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory")
#define ARRIVE_EXPECT(bar, bytes) \
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(AT(&(bar))), "r"(bytes) : "memory")
#define WAIT_CLUSTER(bar, parity) \
    asm volatile("{\n.reg .pred done;\nAGAIN:\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n" \
        "@!done bra AGAIN;\n}" ::"r"(AT(&(bar))), "r"(parity) : "memory")
#define LOAD_MULTICAST(to, from, bytes, bar, mask) \
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;" \
        ::"r"(AT(to)), "l"(from), "r"(bytes), "r"(AT(&(bar))), "h"((unsigned short)(mask)) : "memory")
#define FENCE_ASYNC() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define CLUSTER_ARRIVE() asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory")
#define CLUSTER_WAIT() asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory")
__device__ unsigned RANK() {
    unsigned rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
__device__ unsigned PEER(const void* p, unsigned rank) {  // the address of p in the block of this rank
    unsigned address;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"((unsigned)__cvta_generic_to_shared(p)), "r"(rank));
    return address;
}
#define ARRIVE_PEER(address) asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(address) : "memory")

extern "C" __global__ void __cluster_dims__(2, 1, 1) kernel(const float* in, float* out, int steps) {
    __shared__ __align__(128) float stage[2][128];
    __shared__ unsigned long long full[2], empty[2];
    int t = threadIdx.x, rank = RANK();
    if (t == 0) {
        for (int i = 0; i < 2; ++i) {
            INIT(full[i], 1);
            INIT(empty[i], 256);
        }
        FENCE_INIT();
        FENCE_ASYNC();
    }
    CLUSTER_ARRIVE();
    CLUSTER_WAIT();
    if (t == 128) {
        for (int s = 0; s < steps; ++s) {
            int i = s % 2;
            WAIT_CLUSTER(empty[i], s / 2 % 2 ^ 1);
            if (rank == 0) {
                ARRIVE_EXPECT(full[i], 512);
            }
            if (rank == 0) {
                LOAD_MULTICAST(stage[i], in + 128 * s, 512, full[i], 3);
            }
        }
    } else if (t < 128) {
        for (int s = 0; s < steps; ++s) {
            int i = s % 2;
            WAIT_CLUSTER(full[i], s / 2 % 2);  // <-- here
            float value = stage[i][t];
            if (t / 64 == rank) {
                out[128 * s + t] = value;
            }
            FENCE_ASYNC();
            ARRIVE_PEER(PEER(&empty[i], 0));
            ARRIVE_PEER(PEER(&empty[i], 1));
        }
    }
    __syncwarp();
    CLUSTER_ARRIVE();
    CLUSTER_WAIT();
}
