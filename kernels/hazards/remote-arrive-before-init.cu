// hazard: block 1 arrives at block 0's mbarrier with no cluster barrier behind its initialisation
// source: https://github.com/facebookexperimental/triton/pull/1240
// verdict: wrong
// wrong at: ARRIVE_PEER(PEER(&ready, 0));
// order: the arrival comes before the initialisation, and is lost
// expect: race | uninitialised | hang | barrier
// launch: --arch compute_90a --grid 2 --block 128 --arg out:f32[128] --expect out=1

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
#define ARRIVE_PEER(address) asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(address) : "memory")

extern "C" __global__ void __cluster_dims__(2, 1, 1) kernel(float* out) {
    __shared__ unsigned long long ready;
    int t = threadIdx.x;
    if (RANK() == 0) {
        if (t == 0) {
            INIT(ready, 128);  // <-- with
            FENCE_INIT();
        }
        __syncthreads();
        WAIT_CLUSTER(ready, 0);
        out[t] = 1;
    } else {
        ARRIVE_PEER(PEER(&ready, 0));  // <-- here
    }
    CLUSTER_ARRIVE();
    CLUSTER_WAIT();
}
