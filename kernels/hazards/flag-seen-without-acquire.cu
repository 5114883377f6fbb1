// hazard: the flag is polled by relaxed loads with no fence behind: the reads of the part are not ordered after it
// source: https://github.com/pytorch/pytorch/pull/193321
// verdict: wrong
// wrong at: out[127 - t] = part[127 - t];
// order: the part is read before the flag
// expect: race | uninitialised
// launch: --arch compute_80 --grid 2 --block 128 --arg in:f32[128]=range --arg part:f32[128] --arg flag:u32[1]=zeros --arg out:f32[128]
// launch: --expect out=range

#define ST_RELEASE(p, value) asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(value) : "memory")
#define LD_RELAXED(value, p) asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(p) : "memory")

extern "C" __global__ void kernel(const float* in, float* part, unsigned* flag, float* out) {
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        part[t] = in[t];  // <-- with
        __threadfence();
        __syncthreads();
        if (t == 0) {
            ST_RELEASE(flag, 1);
        }
    } else {
        if (t == 0) {
            unsigned ready;
            do {
                LD_RELAXED(ready, flag);
            } while (ready == 0);
        }
        __syncthreads();
        out[127 - t] = part[127 - t];  // <-- here
    }
}
