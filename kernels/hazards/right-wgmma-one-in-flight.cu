// hazard: one wgmma stays under way: behind wait_group 1 the stage of the step before is given back
// source: pattern of CUTLASS's mainloop, which releases one stage behind
// verdict: right
// why: wait_group 1 says that the wgmma of step s - 1 has read its stage
// expect: nothing
// launch: --arch compute_90a --launch fill --grid 8 --block 128 --arg in:u32[4096] --launch kernel --grid 1 --block 160 --arg in
// launch: --arg out:f32[512] --arg steps:i32=8 --expect out=576

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
#define WGMMA_FENCE(d) \
    asm volatile("wgmma.fence.sync.aligned;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])::"memory")
#define WGMMA_COMMIT() asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory")
#define WGMMA_WAIT(n) asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(n) : "memory")
// A tile in core matrices of 8 rows x 16 bytes without a swizzle, those of K `along_k` bytes apart, those of rows 128.
__device__ unsigned long long TILE(const void* p, unsigned along_k) {
    unsigned long long at = (unsigned)__cvta_generic_to_shared(p);
    return (at & 0x3ffff) >> 4 | (unsigned long long)(along_k >> 4) << 16 | 8ull << 32;
}
#define WGMMA(d, a, b, add) \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %6, 0;\n" \
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, p, 1, 1, 0, 0;\n}" \
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(TILE(a, 1024)), "l"(TILE(b, 128)), "r"(add) : "memory")
__device__ unsigned PAIR(float value) {  // two halves of this value
    unsigned pair;
    asm("{\n.reg .b16 h;\ncvt.rn.f16.f32 h, %1;\nmov.b32 %0, {h, h};\n}" : "=r"(pair) : "f"(value));
    return pair;
}
__device__ uint4 FILLED(float value) {
    unsigned pair = PAIR(value);
    return make_uint4(pair, pair, pair, pair);
}

extern "C" __global__ void fill(uint4* in) {  // tile s holds s + 1
    in[128 * blockIdx.x + threadIdx.x] = FILLED(blockIdx.x + 1);
}

extern "C" __global__ void kernel(const uint4* in, float* out, int steps) {
    __shared__ __align__(128) uint4 a[2][128], b[16];
    __shared__ unsigned long long full[2], empty[2];
    int t = threadIdx.x;
    if (t == 0) {
        for (int i = 0; i < 2; ++i) {
            INIT(full[i], 1);
            INIT(empty[i], 128);
        }
        FENCE_INIT();
    }
    if (t < 16) {
        b[t] = FILLED(1);
    }
    FENCE_ASYNC();
    __syncthreads();
    if (t == 128) {
        for (int s = 0; s < steps; ++s) {
            int i = s % 2;
            WAIT(empty[i], s / 2 % 2 ^ 1);
            ARRIVE_EXPECT(full[i], 2048);
            LOAD(a[i], in + 128 * s, 2048, full[i]);
        }
    } else if (t < 128) {
        float d[4] = {0, 0, 0, 0};
        for (int s = 0; s < steps; ++s) {
            int i = s % 2;
            WAIT(full[i], s / 2 % 2);
            WGMMA_FENCE(d);
            WGMMA(d, a[i], b, 1);
            WGMMA_COMMIT();
            WGMMA_WAIT(1);
            if (s > 0) {
                ARRIVE(empty[i ^ 1]);
            }
        }
        WGMMA_WAIT(0);
        for (int i = 0; i < 4; ++i) {
            out[4 * t + i] = d[i];
        }
    }
}
