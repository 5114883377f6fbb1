// hazard: registers of operand A are written while the wgmma that reads them is under way
// source: pattern of wgmma with A in registers, as in attention kernels
// verdict: wrong
// wrong at: WGMMA_TWICE(d, one, two, tile);
// order: the first wgmma multiplies the second's registers
// expect: register
// launch: --arch compute_90a --grid 1 --block 128 --arg out:f32[512] --expect out=48

#define FENCE_ASYNC() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define WGMMA_COMMIT() asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory")
#define WGMMA_WAIT(n) asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(n) : "memory")
// A tile in core matrices of 8 rows x 16 bytes without a swizzle, those of K `along_k` bytes apart, those of rows 128.
__device__ unsigned long long TILE(const void* p, unsigned along_k) {
    unsigned long long at = (unsigned)__cvta_generic_to_shared(p);
    return (at & 0x3ffff) >> 4 | (unsigned long long)(along_k >> 4) << 16 | 8ull << 32;
}
__device__ unsigned PAIR(float value) {  // two halves of this value
    unsigned pair;
    asm("{\n.reg .b16 h;\ncvt.rn.f16.f32 h, %1;\nmov.b32 %0, {h, h};\n}" : "=r"(pair) : "f"(value));
    return pair;
}
__device__ uint4 FILLED(float value) {
    unsigned pair = PAIR(value);
    return make_uint4(pair, pair, pair, pair);
}

#define WGMMA_TWICE(d, first, second, b) \
    asm volatile("{\n.reg .b32 a;\n.reg .pred p, q;\nsetp.ne.b32 p, %7, 0;\nnot.pred q, p;\n" \
        "mov.b32 a, %4;\nwgmma.fence.sync.aligned;\n" \
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, {a, a, a, a}, %6, p, 1, 1, 0;\n" \
        "mov.b32 a, %5;\nwgmma.fence.sync.aligned;\n" \
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, {a, a, a, a}, %6, q, 1, 1, 0;\n}" \
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(first), "r"(second), "l"(b), "r"(0) : "memory")

extern "C" __global__ void kernel(float* out) {
    __shared__ __align__(128) uint4 b[16];
    int t = threadIdx.x;
    if (t < 16) {
        b[t] = FILLED(1);
    }
    FENCE_ASYNC();
    __syncthreads();
    float d[4] = {0, 0, 0, 0};
    unsigned one = PAIR(1), two = PAIR(2);
    unsigned long long tile = TILE(b, 128);
    WGMMA_TWICE(d, one, two, tile);  // <-- here
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    for (int i = 0; i < 4; ++i) {
        out[4 * t + i] = d[i];
    }
}
