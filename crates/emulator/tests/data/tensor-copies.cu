// One tensor copy: a load into shared memory, a store or a reduction out of it. tensor-copies.cpp runs it on a GPU.
struct alignas(64) TensorMap { unsigned long long words[16]; };

__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

// The same function makes the data on the host, and in whoever compares.
__device__ unsigned hash32(unsigned x) {
    x ^= x >> 16; x *= 0x7feb352du; x ^= x >> 15; x *= 0x846ca68bu; x ^= x >> 16;
    return x;
}

#define COORDS1 "{%2}"
#define COORDS2 "{%2, %3}"
#define COORDS3 "{%2, %3, %4}"
#define COORDS4 "{%2, %3, %4, %5}"
#define COORDS5 "{%2, %3, %4, %5, %6}"
#define ARGS(map) "r"(to), "l"(map), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4)
#define LOAD(R) case R: asm volatile("cp.async.bulk.tensor." #R "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, " COORDS##R "], [%7];" :: ARGS(&map), "r"(at(&bar)) : "memory"); break;
#define STORE(R) case R: asm volatile("cp.async.bulk.tensor." #R "d.global.shared::cta.tile.bulk_group [%1, " COORDS##R "], [%0];" :: ARGS(&map) : "memory"); break;
#define REDUCE(R, OP) case R: asm volatile("cp.reduce.async.bulk.tensor." #R "d.global.shared::cta." OP ".tile.bulk_group [%1, " COORDS##R "], [%0];" :: ARGS(&map) : "memory"); break;
#define ALL(X) switch (rank) { X(1) X(2) X(3) X(4) X(5) }
#define OPS(OP) switch (rank) { REDUCE(1, OP) REDUCE(2, OP) REDUCE(3, OP) REDUCE(4, OP) REDUCE(5, OP) }

// mode: 0 load, 1 store, 2.. reductions add min max inc dec and or xor.
// `in` fills all `shared_bytes` of shared memory before; `out` gets them after a load, behind them a word: whether the wait
// ended.
extern "C" __global__ void probe(const __grid_constant__ TensorMap map, int mode, int rank, int c0, int c1, int c2, int c3, int c4,
                                 int place, int bytes, int shared_bytes, const unsigned* in, unsigned* out) {
    extern __shared__ __align__(1024) unsigned shared[];
    __shared__ __align__(8) unsigned long long bar;
    const int t = threadIdx.x;
    for (int i = t; i < shared_bytes / 4; i += blockDim.x) shared[i] = in[i];
    if (t == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(at(&bar)) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    int done = 1;
    if (t == 0) {
        const unsigned to = at(shared) + place;
        if (mode == 0) {
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(at(&bar)), "r"(bytes) : "memory");
            ALL(LOAD)
            done = 0;
            for (int tries = 0; tries < 20000 && !done; ++tries) {
                asm volatile("{\n.reg .pred p;\nmbarrier.test_wait.parity.shared::cta.b64 p, [%1], 0;\nselp.u32 %0, 1, 0, p;\n}"
                             : "=r"(done) : "r"(at(&bar)) : "memory");
                if (!done) __nanosleep(200);
            }
        } else {
            switch (mode) {
                case 1: ALL(STORE) break;
                case 2: OPS("add") break;
                case 3: OPS("min") break;
                case 4: OPS("max") break;
                case 5: OPS("inc") break;
                case 6: OPS("dec") break;
                case 7: OPS("and") break;
                case 8: OPS("or") break;
                case 9: OPS("xor") break;
            }
            asm volatile("cp.async.bulk.commit_group;" ::: "memory");
            asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
        }
    }
    __syncthreads();
    for (int i = t; i < shared_bytes / 4; i += blockDim.x) out[i] = shared[i];
    if (t == 0) out[shared_bytes / 4] = done;
}
