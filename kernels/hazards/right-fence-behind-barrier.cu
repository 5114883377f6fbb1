// hazard: the storing thread alone runs the proxy fence, behind the block barrier: it lies on the path from every write
// source: https://github.com/NVIDIA/Fuser/pull/1990
// verdict: right
// why: a proxy fence anywhere along base causality order is enough
// expect: nothing
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
    tile[t] = in[t];
    __syncthreads();
    if (t == 0) {
        FENCE_ASYNC();
        STORE(out, tile, 1024);
        COMMIT();
        WAIT_DONE(0);
    }
}
