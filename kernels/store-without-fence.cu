// Doubles numbers in shared memory, from where a bulk copy takes them out. Wrong: no fence shows the stores to the copy.
//
// A barrier orders threads. A bulk copy sees what they stored only behind `fence.proxy.async`.
//
// lab sanitize: --arch compute_90 --grid 1 --block 64 --arg in:f32[64]=range --arg out:f32[64]

extern "C" __global__ void twice(const float* in, float* out) {
    __shared__ __align__(128) float tile[64];
    int t = threadIdx.x;
    tile[t] = 2 * in[t];
    __syncthreads();  // the tile is full
    if (t == 0) {
        unsigned from = (unsigned)__cvta_generic_to_shared(tile);
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;" ::"l"(out), "r"(from) : "memory");
        asm volatile("cp.async.bulk.commit_group;\n cp.async.bulk.wait_group 0;" ::: "memory");
    }
}
