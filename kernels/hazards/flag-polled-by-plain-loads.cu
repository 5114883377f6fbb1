// hazard: the flag is polled by plain loads, which the compiler reads once or not at all: volatile is missing
// source: pattern of a Stream-K fix-up that spins on a plain pointer
// verdict: wrong
// wrong at: while (*flag == 0) {
// order: the loop never sees the flag, or is not there at all
// expect: race | hang | uninitialised
// launch: --arch compute_80 --grid 2 --block 128 --arg in:f32[128]=range --arg part:f32[128] --arg flag:u32[1]=zeros --arg out:f32[128]
// launch: --expect out=range

#define ST_RELEASE(p, value) asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(value) : "memory")

extern "C" __global__ void kernel(const float* in, float* part, unsigned* flag, float* out) {
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        part[t] = in[t];
        __threadfence();
        __syncthreads();
        if (t == 0) {
            ST_RELEASE(flag, 1);  // <-- with
        }
    } else {
        if (t == 0) {
            while (*flag == 0) {  // <-- here
            }
            __threadfence();
        }
        __syncthreads();
        out[127 - t] = part[127 - t];  // <-- with
    }
}
