// hazard: the peer's shared memory is read between two cluster barriers
// source: https://github.com/triton-lang/triton/pull/9413
// verdict: right
// why: arrive.release and wait.acquire; nobody leaves before the last read
// expect: nothing
// launch: --arch compute_90a --grid 2 --block 128 --arg in:f32[256]=range --arg out:f32[256] --expect out=range

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
#define LD_PEER(value, address) asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(value) : "r"(address) : "memory")

extern "C" __global__ void __cluster_dims__(2, 1, 1) kernel(const float* in, float* out) {
    __shared__ float tile[128];
    int t = threadIdx.x;
    unsigned peer = RANK() ^ 1;
    tile[t] = in[128 * peer + t];
    CLUSTER_ARRIVE();
    CLUSTER_WAIT();
    float value;
    LD_PEER(value, PEER(&tile[127 - t], peer));
    CLUSTER_ARRIVE();
    out[128 * (peer ^ 1) + 127 - t] = value;
    CLUSTER_WAIT();
}
