// One map serves two copies: it is changed for the second while the first may still read it.

struct alignas(64) TensorMap {
    unsigned long long words[16];
};

__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ void init(unsigned long long& bar, int count) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at(&bar)), "r"(count) : "memory");
}

__device__ void fence_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

__device__ void arrive_and_expect(unsigned long long& bar, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at(&bar)), "r"(bytes) : "memory");
}

__device__ void wait(unsigned long long& bar, int parity) {
    asm volatile(
        "{\n.reg .pred done;\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra AGAIN;\n}" ::"r"(
            at(&bar)),
        "r"(parity)
        : "memory");
}

__device__ void load(void* to, const TensorMap& map, int x, int y, unsigned long long& bar) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
            at(to)),
        "l"(&map), "r"(x), "r"(y), "r"(at(&bar))
        : "memory");
}

__device__ void acquire_map(const TensorMap* map) {
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
}

__device__ void replace_address(TensorMap* map, const void* address) {
    asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" ::"r"(at(map)), "l"(address) : "memory");
}

__device__ void copy_out(TensorMap* to, const TensorMap* from) {
    asm volatile(
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;" ::"l"(to),
        "r"(at(from))
        : "memory");
}

extern "C" __global__ void kernel(const __grid_constant__ TensorMap map, TensorMap* other, const float* B, float* C) {
    __shared__ __align__(128) float tile[2][8][8];
    __shared__ __align__(128) TensorMap copy;
    __shared__ unsigned long long bar[2];
    int t = threadIdx.x;
    if (t == 0) {
        init(bar[0], 1);
        init(bar[1], 1);
        fence_init();
    }
    if (t < 16) copy.words[t] = map.words[t];
    __syncwarp();
    for (int i = 0; i < 2; ++i) {
        if (t == 0) replace_address(&copy, B + 64 * i);
        __syncwarp();
        copy_out(other, &copy);
        if (t == 0) {
            acquire_map(other);
            arrive_and_expect(bar[i], sizeof(tile[i]));
            load(tile[i], *other, 0, 0, bar[i]);
        }
    }
    wait(bar[0], 0);
    wait(bar[1], 0);
    C[t] = tile[0][t / 8][t % 8] + tile[1][t / 8][t % 8];
    C[t + 32] = tile[0][t / 8 + 4][t % 8] + tile[1][t / 8 + 4][t % 8];
}
