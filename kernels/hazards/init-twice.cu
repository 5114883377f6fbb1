// hazard: the mbarrier is initialised anew in each step, with no inval and while slow threads may still wait for the step before
// source: https://github.com/facebookexperimental/triton/pull/462
// verdict: wrong
// wrong at: INIT(full, 1);
// order: a warp that waits for step s finds the barrier of step s + 1, in its first phase
// expect: race | barrier | hang
// launch: --arch compute_90a --grid 1 --block 256 --arg in:f32[1024]=range --arg out:f32[1024] --arg steps:i32=4 --expect out=range

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

extern "C" __global__ void kernel(const float* in, float* out, int steps) {
    __shared__ __align__(128) float tile[2][256];
    __shared__ unsigned long long full;
    int t = threadIdx.x;
    for (int s = 0; s < steps; ++s) {
        if (t == 0) {
            INIT(full, 1);  // <-- here
            FENCE_INIT();
            FENCE_ASYNC();
            ARRIVE_EXPECT(full, 1024);
            LOAD(tile[s % 2], in + 256 * s, 1024, full);
        }
        __syncthreads();
        WAIT(full, 0);  // <-- with
        out[256 * s + t] = tile[s % 2][t];
        FENCE_ASYNC();
    }
}
