// hazard: a tile is filled anew while the bulk store of the step before may still read it: no wait_group.read
// source: https://github.com/NVIDIA/cutlass/pull/3636
// verdict: wrong
// wrong at: tile[t] = in[256 * s + t];
// order: the store of step s reads the tile after the writes of step s + 1
// expect: race | proxy
// launch: --arch compute_90a --grid 1 --block 256 --arg in:f32[2048]=range --arg out:f32[2048] --arg steps:i32=8 --expect out=range

#define AT(p) ((unsigned)__cvta_generic_to_shared(p))
#define STORE(to, from, bytes) \
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(AT(from)), "r"(bytes) : "memory")
#define COMMIT() asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define WAIT_DONE(n) asm volatile("cp.async.bulk.wait_group %0;" ::"n"(n) : "memory")
#define FENCE_ASYNC() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")

extern "C" __global__ void kernel(const float* in, float* out, int steps) {
    __shared__ __align__(128) float tile[256];
    int t = threadIdx.x;
    for (int s = 0; s < steps; ++s) {
        tile[t] = in[256 * s + t];  // <-- here
        FENCE_ASYNC();
        __syncthreads();
        if (t == 0) {
            STORE(out + 256 * s, tile, 1024);  // <-- with
            COMMIT();
        }
        __syncthreads();
    }
    if (t == 0) {
        WAIT_DONE(0);
    }
}
