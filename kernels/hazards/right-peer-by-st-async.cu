// hazard: data go to the peer by st.async, which completes bytes at the peer's mbarrier
// source: pattern of distributed shared memory by st.async
// verdict: right
// why: the wait covers all bytes; the peer cannot leave before its own wait is over
// expect: nothing
// launch: --arch compute_90a --grid 2 --block 128 --arg in:f32[256]=range --arg out:f32[256] --expect out=range

#define AT(p) ((unsigned)__cvta_generic_to_shared(p))
#define INIT(bar, count) asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(AT(&(bar))), "r"(count) : "memory")
#define FENCE_INIT() asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory")
#define ARRIVE_EXPECT(bar, bytes) \
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(AT(&(bar))), "r"(bytes) : "memory")
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
#define ST_ASYNC(address, value, bar) \
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(address), \
        "r"(__float_as_uint(value)), "r"(bar) : "memory")

extern "C" __global__ void __cluster_dims__(2, 1, 1) kernel(const float* in, float* out) {
    __shared__ float tile[128];
    __shared__ unsigned long long full;
    int t = threadIdx.x;
    unsigned rank = RANK();
    if (t == 0) {
        INIT(full, 1);
        FENCE_INIT();
        ARRIVE_EXPECT(full, 512);
    }
    CLUSTER_ARRIVE();
    CLUSTER_WAIT();
    ST_ASYNC(PEER(&tile[t], rank ^ 1), in[128 * (rank ^ 1) + t], PEER(&full, rank ^ 1));
    WAIT_CLUSTER(full, 0);
    out[128 * rank + 127 - t] = tile[127 - t];
    CLUSTER_ARRIVE();
    CLUSTER_WAIT();
}
