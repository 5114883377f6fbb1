// The box begins at the third column, 8 bytes into the rows.

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

extern "C" __global__ void kernel(const __grid_constant__ TensorMap map, float* C) {
    __shared__ __align__(1024) float tile[8][8];
    __shared__ unsigned long long bar;
    int t = threadIdx.x;
    if (t == 0) {
        init(bar, 1);
        fence_init();
        arrive_and_expect(bar, sizeof(tile));
        load(tile, map, 2, 2, bar);
    }
    __syncthreads();
    wait(bar, 0);
    C[t] = tile[t % 8][t / 8];
}
