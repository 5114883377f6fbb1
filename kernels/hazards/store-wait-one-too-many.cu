// hazard: of two stages, the one just stored is loaded anew after wait_group.read 1, which lets that store run on
// source: https://github.com/deepseek-ai/DeepEP/issues/657
// verdict: wrong
// wrong at: LOAD(stage[i], in + 256 * (s + 2), 1024, full[i]);
// order: the load of step s + 2 writes the stage before the store of step s has read it
// expect: race
// launch: --arch compute_90a --grid 1 --block 32 --arg in:f32[2048]=range --arg out:f32[2048] --arg steps:i32=8 --expect out=range

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
#define STORE(to, from, bytes) \
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(AT(from)), "r"(bytes) : "memory")
#define COMMIT() asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define WAIT_READ(n) asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(n) : "memory")
#define WAIT_DONE(n) asm volatile("cp.async.bulk.wait_group %0;" ::"n"(n) : "memory")
#define FENCE_ASYNC() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")

extern "C" __global__ void kernel(const float* in, float* out, int steps) {
    __shared__ __align__(128) float stage[2][256];
    __shared__ unsigned long long full[2];
    if (threadIdx.x != 0) {
        return;
    }
    for (int i = 0; i < 2; ++i) {
        INIT(full[i], 1);
    }
    FENCE_INIT();
    FENCE_ASYNC();
    for (int s = 0; s < 2; ++s) {
        ARRIVE_EXPECT(full[s], 1024);
        LOAD(stage[s], in + 256 * s, 1024, full[s]);
    }
    for (int s = 0; s < steps; ++s) {
        int i = s % 2;
        WAIT(full[i], s / 2 % 2);
        STORE(out + 256 * s, stage[i], 1024);  // <-- with
        COMMIT();
        if (s + 2 < steps) {
            WAIT_READ(1);
            ARRIVE_EXPECT(full[i], 1024);
            LOAD(stage[i], in + 256 * (s + 2), 1024, full[i]);  // <-- here
        }
    }
    WAIT_DONE(0);
}
