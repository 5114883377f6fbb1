// hazard: of two tiles one is filled while the store of the other may still read: wait_group.read 1 before each fill
// source: https://github.com/NVIDIA/cutlass/issues/2106
// verdict: right
// why: at most the newest group is pending, and it reads the other tile
// expect: nothing
// launch: --arch compute_90a --grid 1 --block 256 --arg in:f32[2048]=range --arg out:f32[2048] --arg steps:i32=8 --expect out=range

#define AT(p) ((unsigned)__cvta_generic_to_shared(p))
#define STORE(to, from, bytes) \
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(AT(from)), "r"(bytes) : "memory")
#define COMMIT() asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define WAIT_READ(n) asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(n) : "memory")
#define WAIT_DONE(n) asm volatile("cp.async.bulk.wait_group %0;" ::"n"(n) : "memory")
#define FENCE_ASYNC() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")

extern "C" __global__ void kernel(const float* in, float* out, int steps) {
    __shared__ __align__(128) float tile[2][256];
    int t = threadIdx.x;
    for (int s = 0; s < steps; ++s) {
        if (t == 0) {
            WAIT_READ(1);
        }
        __syncthreads();
        tile[s % 2][t] = in[256 * s + t];
        FENCE_ASYNC();
        __syncthreads();
        if (t == 0) {
            STORE(out + 256 * s, tile[s % 2], 1024);
            COMMIT();
        }
    }
    if (t == 0) {
        WAIT_DONE(0);
    }
}
