// hazard: a producer hands tiles over by bar.arrive, and nothing tells it that the consumer has read the last one
// source: https://github.com/NVIDIA/cutlass/issues/1900
// verdict: wrong
// wrong at: tile[t] = in[32 * s + t];
// order: the producer writes step s + 1 before the consumer reads step s; its second arrival completes the barrier alone
// expect: race | barrier | hang
// launch: --arch compute_80 --grid 1 --block 64 --arg in:f32[256]=range --arg out:f32[256] --arg steps:i32=8 --expect out=range

#define BAR_SYNC(id, threads) asm volatile("bar.sync %0, %1;" ::"n"(id), "n"(threads) : "memory")
#define BAR_ARRIVE(id, threads) asm volatile("bar.arrive %0, %1;" ::"n"(id), "n"(threads) : "memory")

extern "C" __global__ void kernel(const float* in, float* out, int steps) {
    __shared__ float tile[32];
    int t = threadIdx.x;
    for (int s = 0; s < steps; ++s) {
        if (t < 32) {
            tile[t] = in[32 * s + t];  // <-- here
            BAR_ARRIVE(1, 64);
        } else {
            BAR_SYNC(1, 64);
            out[32 * s + t - 32] = tile[t - 32];  // <-- with
        }
    }
}
