// hazard: a producer warp and a consumer warp hand tiles over by two named barriers, arrive on one side and sync on the other
// source: https://github.com/NVIDIA/cutlass/issues/1900
// verdict: right
// why: the producer syncs at empty before each write, the consumer arrives there after each read
// expect: nothing
// launch: --arch compute_80 --grid 1 --block 64 --arg in:f32[256]=range --arg out:f32[256] --arg steps:i32=8 --expect out=range

#define BAR_SYNC(id, threads) asm volatile("bar.sync %0, %1;" ::"n"(id), "n"(threads) : "memory")
#define BAR_ARRIVE(id, threads) asm volatile("bar.arrive %0, %1;" ::"n"(id), "n"(threads) : "memory")

extern "C" __global__ void kernel(const float* in, float* out, int steps) {
    __shared__ float tile[32];
    int t = threadIdx.x;
    if (t < 32) {
        for (int s = 0; s < steps; ++s) {
            BAR_SYNC(2, 64);
            tile[t] = in[32 * s + t];
            BAR_ARRIVE(1, 64);
        }
    } else {
        for (int s = 0; s < steps; ++s) {
            BAR_ARRIVE(2, 64);
            BAR_SYNC(1, 64);
            out[32 * s + 63 - t] = tile[63 - t];
        }
    }
}
