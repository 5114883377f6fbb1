// A ring of two stages, fed by boxes of two tensors, of which one barrier tells; a lane gives each stage back.

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

__device__ void arrive(unsigned long long& bar) {
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(at(&bar)) : "memory");
}

__device__ void load(void* to, const TensorMap& map, int x, int y, unsigned long long& bar) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
            at(to)),
        "l"(&map), "r"(x), "r"(y), "r"(at(&bar))
        : "memory");
}

extern "C" __global__ void kernel(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, float* C, int steps) {
    __shared__ __align__(128) float as[2][8][8], bs[2][8][8];
    __shared__ unsigned long long full[2], empty[2];
    int t = threadIdx.x;
    if (t == 0) {
        for (int s = 0; s < 2; ++s) {
            init(full[s], 1);
            init(empty[s], 2);
        }
        fence_init();
    }
    __syncthreads();
    if (t == 64) {
        for (int step = 0; step < steps; ++step) {
            int s = step % 2;
            wait(empty[s], step / 2 % 2 ^ 1);
            arrive_and_expect(full[s], sizeof(as[s]) + sizeof(bs[s]));
            load(as[s], a, 8 * step, 4, full[s]);
            load(bs[s], b, 4, 8 * step, full[s]);
        }
    } else if (t < 64) {
        float sum = 0;
        for (int step = 0; step < steps; ++step) {
            int s = step % 2;
            wait(full[s], step / 2 % 2);
            for (int k = 0; k < 8; ++k) sum += as[s][t / 8][k] * bs[s][k][t % 8];
            __syncwarp();
            if (t % 32 == 0) arrive(empty[s]);
        }
        C[t] = sum;
    }
}
