// hazard: the consumers give their last stage back to the other block, which does not wait for that and may have ended
// source: https://github.com/rchardx/hopper-gemm/issues/3
// verdict: wrong
// wrong at: ARRIVE_PEER(PEER(&empty, 0));
// order: block 0 ends after its write; block 1's arrival goes to memory of a block that is no more
// expect: lifetime
// launch: --arch compute_90a --grid 2 --block 128 --arg in:f32[128]=range --arg out:f32[128] --expect out=range

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
    __shared__ unsigned long long full, empty;
    int t = threadIdx.x;
    if (t == 0) {
        INIT(full, 128);
        INIT(empty, 128);
        FENCE_INIT();
    }
    CLUSTER_ARRIVE();
    CLUSTER_WAIT();
    if (RANK() == 0) {
        ST_PEER(PEER(&tile[t], 1), in[t]);
        ARRIVE_PEER(PEER(&full, 1));
    } else {
        WAIT_CLUSTER(full, 0);
        out[t] = tile[t];
        ARRIVE_PEER(PEER(&empty, 0));  // <-- here
    }
}
