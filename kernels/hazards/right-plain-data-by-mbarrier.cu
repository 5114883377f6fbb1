// hazard: ordinary stores handed to another warp by an mbarrier at which every writer arrives: no block barrier
// source: https://github.com/NVIDIA/cudnn-frontend/pull/426
// verdict: right
// why: arrive releases and try_wait acquires, both at the scope of the block
// expect: nothing
// launch: --arch compute_90a --grid 1 --block 64 --arg in:f32[32]=range --arg out:f32[32] --expect out=range

#define AT(p) ((unsigned)__cvta_generic_to_shared(p))
#define INIT(bar, count) asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(AT(&(bar))), "r"(count) : "memory")
#define ARRIVE(bar) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(AT(&(bar))) : "memory")
#define WAIT(bar, parity) \
    asm volatile("{\n.reg .pred done;\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra AGAIN;\n}" ::"r"( \
        AT(&(bar))), "r"(parity) : "memory")

extern "C" __global__ void kernel(const float* in, float* out) {
    __shared__ float tile[32];
    __shared__ unsigned long long full;
    int t = threadIdx.x;
    if (t == 0) {
        INIT(full, 32);
    }
    __syncthreads();
    if (t < 32) {
        tile[t] = in[t];
        ARRIVE(full);
    } else {
        WAIT(full, 0);
        out[63 - t] = tile[63 - t];
    }
}
