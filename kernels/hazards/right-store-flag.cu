// hazard: a bulk store handed to another block: wait_group makes the writes visible to the thread, which then releases the flag
// source: https://github.com/NVIDIA/cutlass/issues/2162
// verdict: right
// why: wait_group without .read, a fence of both proxies, a release and an acquire
// expect: nothing
// launch: --arch compute_90a --grid 2 --block 256 --arg in:f32[256]=range --arg middle:f32[256] --arg flag:u32[1]=zeros --arg out:f32[256]
// launch: --expect out=range

#define AT(p) ((unsigned)__cvta_generic_to_shared(p))
#define STORE(to, from, bytes) \
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(AT(from)), "r"(bytes) : "memory")
#define COMMIT() asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define WAIT_DONE(n) asm volatile("cp.async.bulk.wait_group %0;" ::"n"(n) : "memory")
#define FENCE_ASYNC() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define FENCE_ASYNC_GLOBAL() asm volatile("fence.proxy.async.global;" ::: "memory")
#define LD_ACQUIRE(value, p) asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(p) : "memory")
#define ST_RELEASE(p, value) asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(value) : "memory")

extern "C" __global__ void kernel(const float* in, float* middle, unsigned* flag, float* out) {
    __shared__ __align__(128) float tile[256];
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        tile[t] = in[t];
        FENCE_ASYNC();
        __syncthreads();
        if (t == 0) {
            STORE(middle, tile, 1024);
            COMMIT();
            WAIT_DONE(0);
            FENCE_ASYNC_GLOBAL();
            __threadfence();
            ST_RELEASE(flag, 1);
        }
    } else {
        if (t == 0) {
            unsigned ready;
            do {
                LD_ACQUIRE(ready, flag);
            } while (ready == 0);
        }
        __syncthreads();
        out[t] = middle[t];
    }
}
