// hazard: a named barrier of 256 threads in a branch that 128 threads take
// source: https://github.com/deepseek-ai/FlashMLA/pull/57
// verdict: wrong
// wrong at: BAR_SYNC(1, 256);
// order: every order
// expect: hang | barrier
// launch: --arch compute_80 --grid 1 --block 256 --arg in:f32[128]=range --arg out:f32[128] --expect out=range

#define BAR_SYNC(id, threads) asm volatile("bar.sync %0, %1;" ::"n"(id), "n"(threads) : "memory")

extern "C" __global__ void kernel(const float* in, float* out) {
    __shared__ float tile[128];
    int t = threadIdx.x;
    if (t < 128) {
        tile[t] = in[t];
        BAR_SYNC(1, 256);  // <-- here
        out[127 - t] = tile[127 - t];
    }
    __syncthreads();  // <-- with
}
