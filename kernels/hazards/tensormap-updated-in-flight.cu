// hazard: the map is changed for the next copy while the last one, for which nobody has waited, may still read it
// source: https://github.com/deepseek-ai/DeepGEMM/pull/343
// verdict: wrong
// wrong at: MAP_ADDRESS(place, second);
// order: the first copy fetches from the second's address
// expect: race | proxy
// launch: --arch compute_90a --grid 1 --block 256 --arg first:map(f32[8x32],box=8x32)=range --arg second:f32[256]=ones --arg place:u64[16]
// launch: --arg out:f32[512] --expect out[0..256]=range --expect out[256..512]=1

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
#define MAP_RELEASE() asm volatile("fence.proxy.tensormap::generic.release.gpu;" ::: "memory")
#define MAP_ACQUIRE(map) asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory")

extern "C" __global__ void kernel(const __grid_constant__ TensorMap first, const float* second, TensorMap* place, float* out) {
    __shared__ __align__(128) float tile[2][256];
    __shared__ unsigned long long full;
    int t = threadIdx.x;
    if (t == 0) {
        INIT(full, 1);
        FENCE_INIT();
        FENCE_ASYNC();
        *place = first;
        MAP_RELEASE();
        MAP_ACQUIRE(place);
        ARRIVE_EXPECT(full, 2048);
        TENSOR_LOAD(tile[0], place, 0, 0, full);  // <-- with
        MAP_ADDRESS(place, second);  // <-- here
        MAP_RELEASE();
        MAP_ACQUIRE(place);
        TENSOR_LOAD(tile[1], place, 0, 0, full);
    }
    __syncthreads();
    WAIT(full, 0);
    out[t] = tile[0][t];
    out[256 + t] = tile[1][t];
}
