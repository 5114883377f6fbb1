// hazard: the block ends without a wait for its bulk store, which may still have to read the block's shared memory
// source: https://github.com/NVIDIA/cutlass/issues/2002
// verdict: wrong
// wrong at: STORE(out + 256 * blockIdx.x, tile, 1024);
// order: the block's shared memory goes to the next block before the store reads it
// expect: lifetime
// launch: --arch compute_90a --grid 8 --block 256 --arg in:f32[2048]=range --arg out:f32[2048] --expect out=range

#define AT(p) ((unsigned)__cvta_generic_to_shared(p))
#define STORE(to, from, bytes) \
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(AT(from)), "r"(bytes) : "memory")
#define COMMIT() asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define FENCE_ASYNC() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")

extern "C" __global__ void kernel(const float* in, float* out) {
    __shared__ __align__(128) float tile[256];
    int t = threadIdx.x;
    tile[t] = in[256 * blockIdx.x + t];
    FENCE_ASYNC();
    __syncthreads();
    if (t == 0) {
        STORE(out + 256 * blockIdx.x, tile, 1024);  // <-- here
        COMMIT();
    }
}
