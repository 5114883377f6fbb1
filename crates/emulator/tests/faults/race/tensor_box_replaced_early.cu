// One thread fetches a box, and another one sends what is to stand there instead: it has met a barrier behind the request, and not seen its phase.

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

__device__ void fence_proxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

__device__ void store(const TensorMap& map, int x, int y, const void* from) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map), "r"(x),
                 "r"(y), "r"(at(from))
                 : "memory");
}

__device__ void commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

__device__ void wait_all() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }

extern "C" __global__ void kernel(float* C, const __grid_constant__ TensorMap map) {
    __shared__ __align__(128) float before[8][8], after[8][8];
    __shared__ unsigned long long bar;
    int t = threadIdx.x;
    if (t == 0) {
        init(bar, 1);
        fence_init();
    }
    after[t / 8][t % 8] = t;
    fence_proxy();
    __syncthreads();

    if (t == 0) {
        arrive_and_expect(bar, sizeof(before));
        load(before, map, 0, 0, bar);
    }
    __syncthreads();
    if (t == 32) {
        store(map, 0, 0, after);
        commit();
        wait_all();
    }
    wait(bar, 0);
    C[16 * (8 + t / 8) + t % 8] = before[t / 8][t % 8];
}
