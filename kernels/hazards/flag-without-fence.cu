// hazard: a block writes its part and sets a flag by a relaxed store: nothing releases the part
// source: https://github.com/NVIDIA/Fuser/pull/2391
// verdict: wrong
// wrong at: out[127 - t] = part[127 - t];
// order: the other block sees the flag and not yet the part
// expect: race | uninitialised
// launch: --arch compute_80 --grid 2 --block 128 --arg in:f32[128]=range --arg part:f32[128] --arg flag:u32[1]=zeros --arg out:f32[128]
// launch: --expect out=range

#define LD_ACQUIRE(value, p) asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(p) : "memory")
#define ST_RELAXED(p, value) asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(value) : "memory")

extern "C" __global__ void kernel(const float* in, float* part, unsigned* flag, float* out) {
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        part[t] = in[t];  // <-- with
        __syncthreads();
        if (t == 0) {
            ST_RELAXED(flag, 1);
        }
    } else {
        if (t == 0) {
            unsigned ready;
            do {
                LD_ACQUIRE(ready, flag);
            } while (ready == 0);
        }
        __syncthreads();
        out[127 - t] = part[127 - t];  // <-- here
    }
}
