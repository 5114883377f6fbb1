// hazard: data go to the peer under a cluster barrier whose arrival is relaxed: the writes are not released
// source: https://github.com/facebookexperimental/triton/pull/2146
// verdict: wrong
// wrong at: out[128 * rank + t] = tile[t];
// order: the peer passes the barrier and reads its tile as it was before
// expect: race | uninitialised
// launch: --arch compute_90a --grid 2 --block 128 --arg in:f32[256]=range --arg out:f32[256] --expect out=range

#define CLUSTER_ARRIVE() asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory")
#define CLUSTER_ARRIVE_RELAXED() asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory")
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

extern "C" __global__ void __cluster_dims__(2, 1, 1) kernel(const float* in, float* out) {
    __shared__ float tile[128];
    int t = threadIdx.x;
    unsigned rank = RANK();
    CLUSTER_ARRIVE();
    CLUSTER_WAIT();
    ST_PEER(PEER(&tile[t], rank ^ 1), in[128 * (rank ^ 1) + t]);  // <-- with
    CLUSTER_ARRIVE_RELAXED();
    CLUSTER_WAIT();
    out[128 * rank + t] = tile[t];  // <-- here
}
