// One stage, filled by bulk copies again and again: the barrier behind the reads lets the next copy begin, and no proxy
// fence is between. CUTLASS does so; others call it an error. It is right here, with a warning.
//
// lab sanitize: --arch compute_90 --grid 1 --block 64 --arg in:i32[64*steps]=ones --set steps=4 --arg out:i32[64] --arg steps
// lab sanitize: --print out[0..4] --expect out=4

__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

extern "C" __global__ void sum(const int* in, int* out, int steps) {
    __shared__ __align__(128) int stage[64];
    __shared__ unsigned long long full;
    int t = threadIdx.x, sum = 0;
    if (t == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(at(&full)) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    for (int step = 0; step < steps; ++step) {
        __syncthreads();  // nobody reads the stage
        if (t == 0) {
            asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(at(&full)), "r"(256) : "memory");
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                             at(stage)),
                         "l"(in + 64 * step), "r"(256), "r"(at(&full))
                         : "memory");
        }
        asm volatile(
            "{\n.reg .pred done;\nAGAIN:\nmbarrier.try_wait.parity.shared.b64 done, [%0], %1;\n@!done bra AGAIN;\n}" ::"r"(
                at(&full)),
            "r"(step & 1)
            : "memory");  // the stage is full
        sum += stage[t ^ 1];
    }
    out[t] = sum;
}
