// hazard: two groups are under way, wait_group 1 waits for the first, and both results are stored
// source: https://github.com/facebookexperimental/triton/pull/160
// verdict: wrong
// wrong at: out[512 + 4 * t + i] = e[i];
// order: the second accumulator is stored before wgmma has written it
// expect: register
// launch: --arch compute_90a --grid 1 --block 128 --arg out:f32[1024] --expect out=16

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

extern "C" __global__ void kernel(float* out) {
    __shared__ __align__(128) uint4 a[128], b[16];
    int t = threadIdx.x;
    a[t] = FILLED(1);
    if (t < 16) {
        b[t] = FILLED(1);
    }
    FENCE_ASYNC();
    __syncthreads();
    float d[4] = {0, 0, 0, 0}, e[4] = {0, 0, 0, 0};
    WGMMA_FENCE(d);
    WGMMA_FENCE(e);
    WGMMA(d, a, b, 0);
    WGMMA_COMMIT();
    WGMMA(e, a, b, 0);
    WGMMA_COMMIT();
    WGMMA_WAIT(1);
    for (int i = 0; i < 4; ++i) {
        out[4 * t + i] = d[i];
    }
    for (int i = 0; i < 4; ++i) {
        out[512 + 4 * t + i] = e[i];  // <-- here
    }
    WGMMA_WAIT(0);
}
