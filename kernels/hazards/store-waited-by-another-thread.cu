// hazard: the thread that waits has stored nothing: bulk groups belong to the thread that committed them
// source: https://github.com/deepseek-ai/DeepEP/issues/549
// verdict: wrong
// wrong at: tile[t] = in[256 * s + t];
// order: thread 32's wait_group.read returns at once; the tile is written while thread 0's store reads it
// expect: race | proxy
// launch: --arch compute_90a --grid 1 --block 256 --arg in:f32[2048]=range --arg out:f32[2048] --arg steps:i32=8 --expect out=range

#define AT(p) ((unsigned)__cvta_generic_to_shared(p))
#define STORE(to, from, bytes) \
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(AT(from)), "r"(bytes) : "memory")
#define COMMIT() asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define WAIT_READ(n) asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(n) : "memory")
#define WAIT_DONE(n) asm volatile("cp.async.bulk.wait_group %0;" ::"n"(n) : "memory")
#define FENCE_ASYNC() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")

extern "C" __global__ void kernel(const float* in, float* out, int steps) {
    __shared__ __align__(128) float tile[256];
    int t = threadIdx.x;
    for (int s = 0; s < steps; ++s) {
        if (t == 32) {
            WAIT_READ(0);
        }
        __syncthreads();
        tile[t] = in[256 * s + t];  // <-- here
        FENCE_ASYNC();
        __syncthreads();
        if (t == 0) {
            STORE(out + 256 * s, tile, 1024);  // <-- with
            COMMIT();
        }
    }
    if (t == 0) {
        WAIT_DONE(0);
    }
}
