// hazard: the memory of an mbarrier becomes data behind a block barrier and an inval
// source: https://github.com/triton-lang/triton/pull/3858
// verdict: right
// why: nobody waits any more, and the object is none any more
// expect: nothing
// launch: --arch compute_90a --grid 1 --block 256 --arg in:f32[256]=range --arg out:f32[256] --expect out=range

#define AT(p) ((unsigned)__cvta_generic_to_shared(p))
#define INIT(bar, count) asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(AT(&(bar))), "r"(count) : "memory")
#define INVAL(bar) asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(AT(&(bar))) : "memory")
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
    __shared__ union { unsigned long long full; float first; } place;
    int t = threadIdx.x;
    if (t == 0) {
        INIT(place.full, 1);
        FENCE_INIT();
        FENCE_ASYNC();
        ARRIVE_EXPECT(place.full, 1024);
        LOAD(tile, in, 1024, place.full);
    }
    __syncthreads();
    WAIT(place.full, 0);
    __syncthreads();
    if (t == 0) {
        INVAL(place.full);
        place.first = tile[0] + 1;
    }
    __syncthreads();
    out[t] = tile[t] + place.first - 1;
}
