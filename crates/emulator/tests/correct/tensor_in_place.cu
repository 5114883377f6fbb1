// Boxes of a tensor are fetched by a map, and what comes of them is stored into the tensor by its address.

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

__device__ void load(void* to, const TensorMap& map, int x, int y, unsigned long long& bar) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
            at(to)),
        "l"(&map), "r"(x), "r"(y), "r"(at(&bar))
        : "memory");
}

__device__ void wait(unsigned long long& bar, int parity) {
    asm volatile(
        "{\n.reg .pred done;\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra AGAIN;\n}" ::"r"(
            at(&bar)),
        "r"(parity)
        : "memory");
}

extern "C" __global__ void kernel(float* C, const __grid_constant__ TensorMap map) {
    __shared__ __align__(128) float tile[8][8];
    __shared__ unsigned long long bar;
    int x = 8 * (blockIdx.x % 2), y = 8 * (blockIdx.x / 2);
    int t = threadIdx.x;
    if (t == 0) {
        init(bar, 1);
        fence_init();
    }
    __syncthreads();

    if (t == 0) {
        arrive_and_expect(bar, sizeof(tile));
        load(tile, map, x, y, bar);
    }
    wait(bar, 0);
    C[16 * (y + t / 8) + x + t % 8] = tile[t % 8][t / 8];
}
