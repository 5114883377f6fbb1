// hazard: the tile is written by ordinary stores and read by the tensor store with a block barrier but no proxy fence
// source: https://github.com/NVIDIA/Fuser/pull/1967
// verdict: wrong
// wrong at: TENSOR_STORE(&out, 0, 8 * blockIdx.y, tile);
// order: the async proxy reads the tile as it was before the ordinary writes
// expect: proxy
// launch: --arch compute_90a --grid 1,8 --block 256 --arg in:f32[2048]=range --arg out:map(f32[64x32],box=8x32) --expect out=range

#define AT(p) ((unsigned)__cvta_generic_to_shared(p))
#define TENSOR_STORE(map, x, y, from) \
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map), "r"(x), \
        "r"(y), "r"(AT(from)) : "memory")
#define COMMIT() asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define WAIT_DONE(n) asm volatile("cp.async.bulk.wait_group %0;" ::"n"(n) : "memory")
struct __align__(64) TensorMap { unsigned long long words[16]; };

extern "C" __global__ void kernel(const float* in, const __grid_constant__ TensorMap out) {
    __shared__ __align__(128) float tile[256];
    int t = threadIdx.x;
    tile[t] = in[256 * blockIdx.y + t];  // <-- with
    __syncthreads();
    if (t == 0) {
        TENSOR_STORE(&out, 0, 8 * blockIdx.y, tile);  // <-- here
        COMMIT();
        WAIT_DONE(0);
    }
}
