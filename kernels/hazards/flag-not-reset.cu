// hazard: the flag of the first launch is still set in the second, whose reader does not wait for its writer
// source: https://github.com/ROCm/hipBLASLt/pull/1035
// verdict: wrong
// wrong at: out[127 - t] = part[127 - t] / times;
// order: in the second launch the part is read before it is written anew
// expect: race | result
// launch: --arch compute_80 --grid 2 --block 128 --launch kernel --arg in:f32[128]=range --arg part:f32[128] --arg flag:u32[1]=zeros
// launch: --arg once:f32[128] --arg one:i32=1 --launch kernel --arg in --arg part --arg flag --arg out:f32[128] --arg two:i32=2
// launch: --expect out=range

#define LD_ACQUIRE(value, p) asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(p) : "memory")
#define ST_RELEASE(p, value) asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(value) : "memory")

extern "C" __global__ void kernel(const float* in, float* part, unsigned* flag, float* out, int times) {
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        part[t] = in[t] * times;  // <-- with
        __threadfence();
        __syncthreads();
        if (t == 0) {
            ST_RELEASE(flag, 1);
        }
    } else {
        if (t == 0) {
            unsigned ready;
            do {
                LD_ACQUIRE(ready, flag);
            } while (ready == 0);
        }
        __syncthreads();
        out[127 - t] = part[127 - t] / times;  // <-- here
    }
}
