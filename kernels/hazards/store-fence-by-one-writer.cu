// hazard: only thread 0 runs the proxy fence, before the barrier: the writes of the other threads are not behind it
// source: https://github.com/MoonshotAI/FlashKDA/issues/24
// verdict: wrong
// wrong at: STORE(out, tile, 1024);
// order: the fence of thread 0 comes before the write of thread 255, whose value the async proxy does not see
// expect: proxy
// launch: --arch compute_90a --grid 1 --block 256 --arg in:f32[256]=range --arg out:f32[256] --expect out=range

#define AT(p) ((unsigned)__cvta_generic_to_shared(p))
#define STORE(to, from, bytes) \
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(AT(from)), "r"(bytes) : "memory")
#define COMMIT() asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define WAIT_DONE(n) asm volatile("cp.async.bulk.wait_group %0;" ::"n"(n) : "memory")
#define FENCE_ASYNC() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")

extern "C" __global__ void kernel(const float* in, float* out) {
    __shared__ __align__(128) float tile[256];
    int t = threadIdx.x;
    tile[t] = in[t];  // <-- with
    if (t == 0) {
        FENCE_ASYNC();
    }
    __syncthreads();
    if (t == 0) {
        STORE(out, tile, 1024);  // <-- here
        COMMIT();
        WAIT_DONE(0);
    }
}
