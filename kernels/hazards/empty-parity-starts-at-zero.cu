// hazard: the producer begins with parity 0 at the empty barrier: it waits for a release before it has filled anything
// source: https://github.com/NVIDIA/cutlass/issues/2404
// verdict: wrong
// wrong at: WAIT(empty[i], s / 2 % 2);
// order: every order: the first wait is for a phase that only consumers of a full stage end
// expect: hang
// launch: --arch compute_90a --grid 1 --block 160 --arg in:f32[1024]=range --arg out:f32[1024] --arg steps:i32=8 --expect out=range

#define AT(p) ((unsigned)__cvta_generic_to_shared(p))
#define INIT(bar, count) asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(AT(&(bar))), "r"(count) : "memory")
#define FENCE_INIT() asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory")
#define ARRIVE(bar) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(AT(&(bar))) : "memory")
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
    __shared__ __align__(128) float stage[2][128];
    __shared__ unsigned long long full[2], empty[2];
    int t = threadIdx.x;
    if (t == 0) {
        for (int i = 0; i < 2; ++i) {
            INIT(full[i], 1);
            INIT(empty[i], 128);
        }
        FENCE_INIT();
        FENCE_ASYNC();
    }
    __syncthreads();
    if (t == 128) {
        for (int s = 0; s < steps; ++s) {
            int i = s % 2;
            WAIT(empty[i], s / 2 % 2);  // <-- here
            ARRIVE_EXPECT(full[i], 512);
            LOAD(stage[i], in + 128 * s, 512, full[i]);
        }
    } else if (t < 128) {
        for (int s = 0; s < steps; ++s) {
            int i = s % 2;
            WAIT(full[i], s / 2 % 2);  // <-- with
            out[128 * s + t] = stage[i][t];
            FENCE_ASYNC();
            ARRIVE(empty[i]);
        }
    }
}
