// hazard: the tile is refilled while the bulk reduction that adds it to global memory may still read it
// source: https://github.com/NVIDIA/TensorRT-LLM/pull/18369
// verdict: wrong
// wrong at: tile[t] = s + 1;
// order: the reduction of step s adds what step s + 1 wrote
// expect: race | proxy
// launch: --arch compute_90a --grid 1 --block 256 --arg out:f32[256]=zeros --arg steps:i32=6 --expect out=21

#define AT(p) ((unsigned)__cvta_generic_to_shared(p))
#define REDUCE(to, from, bytes) \
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(to), "r"(AT(from)), \
        "r"(bytes) : "memory")
#define COMMIT() asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define WAIT_DONE(n) asm volatile("cp.async.bulk.wait_group %0;" ::"n"(n) : "memory")
#define FENCE_ASYNC() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")

extern "C" __global__ void kernel(float* out, int steps) {
    __shared__ __align__(128) float tile[256];
    int t = threadIdx.x;
    for (int s = 0; s < steps; ++s) {
        tile[t] = s + 1;  // <-- here
        FENCE_ASYNC();
        __syncthreads();
        if (t == 0) {
            REDUCE(out, tile, 1024);  // <-- with
            COMMIT();
        }
        __syncthreads();
    }
    if (t == 0) {
        WAIT_DONE(0);
    }
}
