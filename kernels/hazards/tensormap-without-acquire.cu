// hazard: a tensor map is written in global memory and used with no fence.proxy.tensormap between
// source: https://github.com/flashinfer-ai/flashinfer/pull/4923
// verdict: wrong
// wrong at: TENSOR_LOAD(tile, place, 0, 0, full);
// order: the copy fetches by the map as it was before
// expect: proxy
// launch: --arch compute_90a --grid 1 --block 256 --arg first:map(f32[8x32],box=8x32)=zeros --arg second:f32[256]=range --arg place:u64[16]
// launch: --arg out:f32[256] --expect out=range

#define AT(p) ((unsigned)__cvta_generic_to_shared(p))
#define INIT(bar, count) asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(AT(&(bar))), "r"(count) : "memory")
#define FENCE_INIT() asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory")
#define ARRIVE_EXPECT(bar, bytes) \
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(AT(&(bar))), "r"(bytes) : "memory")
#define WAIT(bar, parity) \
    asm volatile("{\n.reg .pred done;\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra AGAIN;\n}" ::"r"( \
        AT(&(bar))), "r"(parity) : "memory")
#define TENSOR_LOAD(to, map, x, y, bar) \
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" \
        ::"r"(AT(to)), "l"(map), "r"(x), "r"(y), "r"(AT(&(bar))) : "memory")
#define FENCE_ASYNC() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
struct __align__(64) TensorMap { unsigned long long words[16]; };
#define MAP_ADDRESS(map, address) \
    asm volatile("tensormap.replace.tile.global_address.global.b1024.b64 [%0], %1;" ::"l"(map), "l"(address) : "memory")

extern "C" __global__ void kernel(const __grid_constant__ TensorMap first, const float* second, TensorMap* place, float* out) {
    __shared__ __align__(128) float tile[256];
    __shared__ unsigned long long full;
    int t = threadIdx.x;
    if (t == 0) {
        INIT(full, 1);
        FENCE_INIT();
        FENCE_ASYNC();
        *place = first;
        MAP_ADDRESS(place, second);  // <-- with
        ARRIVE_EXPECT(full, 1024);
        TENSOR_LOAD(tile, place, 0, 0, full);  // <-- here
    }
    __syncthreads();
    WAIT(full, 0);
    out[t] = tile[t];
}
