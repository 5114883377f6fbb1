// hazard: data go to the peer by remote stores and remote arrivals, with release and acquire at the scope of the cluster
// source: https://github.com/apache/tvm/pull/20074
// verdict: right
// why: arrive.release.cluster after the store, try_wait.acquire.cluster before the read
// expect: nothing
// launch: --arch compute_90a --grid 2 --block 128 --arg in:f32[256]=range --arg out:f32[256] --expect out=range

#define AT(p) ((unsigned)__cvta_generic_to_shared(p))
#define INIT(bar, count) asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(AT(&(bar))), "r"(count) : "memory")
#define FENCE_INIT() asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory")
#define WAIT_CLUSTER(bar, parity) \
    asm volatile("{\n.reg .pred done;\nAGAIN:\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n" \
        "@!done bra AGAIN;\n}" ::"r"(AT(&(bar))), "r"(parity) : "memory")
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
#define ST_PEER(address, value) asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(address), "f"(value) : "memory")
#define ARRIVE_PEER(address) asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(address) : "memory")

extern "C" __global__ void __cluster_dims__(2, 1, 1) kernel(const float* in, float* out) {
    __shared__ float tile[128];
    __shared__ unsigned long long full;
    int t = threadIdx.x;
    unsigned rank = RANK();
    if (t == 0) {
        INIT(full, 128);
        FENCE_INIT();
    }
    CLUSTER_ARRIVE();
    CLUSTER_WAIT();
    ST_PEER(PEER(&tile[t], rank ^ 1), in[128 * (rank ^ 1) + t]);
    ARRIVE_PEER(PEER(&full, rank ^ 1));
    WAIT_CLUSTER(full, 0);
    out[128 * rank + 127 - t] = tile[127 - t];
}
