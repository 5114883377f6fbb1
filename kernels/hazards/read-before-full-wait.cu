// hazard: the wait for the copy stands behind the reads of what it brings
// source: https://github.com/facebookexperimental/CUTracer/pull/106
// verdict: wrong
// wrong at: float value = tile[t];
// order: the tile is read before the copy has written it
// expect: race | uninitialised
// launch: --arch compute_90a --grid 1 --block 256 --arg in:f32[256]=range --arg out:f32[256] --expect out=range

#define AT(p) ((unsigned)__cvta_generic_to_shared(p))
#define INIT(bar, count) asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(AT(&(bar))), "r"(count) : "memory")
#define FENCE_INIT() asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory")
#define ARRIVE_EXPECT(bar, bytes) \
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(AT(&(bar))), "r"(bytes) : "memory")
#define WAIT(bar, parity) \
    asm volatile("{\n.reg .pred done;\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra AGAIN;\n}" ::"r"( \
        AT(&(bar))), "r"(parity) : "memory")
#define LOAD(to, from, bytes, bar) \
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(AT(to)), \
        "l"(from), "r"(bytes), "r"(AT(&(bar))) : "memory")
#define FENCE_ASYNC() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")

extern "C" __global__ void kernel(const float* in, float* out) {
    __shared__ __align__(128) float tile[256];
    __shared__ unsigned long long full;
    int t = threadIdx.x;
    if (t == 0) {
        INIT(full, 1);
        FENCE_INIT();
        FENCE_ASYNC();
    }
    __syncthreads();
    if (t == 0) {
        ARRIVE_EXPECT(full, 1024);
        LOAD(tile, in, 1024, full);  // <-- with
    }
    float value = tile[t];  // <-- here
    WAIT(full, 0);
    out[t] = value;
}
