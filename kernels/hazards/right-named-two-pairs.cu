// hazard: two pairs of warps exchange at the same time under a barrier number each
// source: https://github.com/flashinfer-ai/flashinfer/pull/4533
// verdict: right
// why: each number is completed by the two warps of its pair
// expect: nothing
// launch: --arch compute_80 --grid 1 --block 128 --arg in:f32[128]=range --arg out:f32[128] --expect out=range

#define BAR_SYNC(id, threads) asm volatile("bar.sync %0, %1;" ::"n"(id), "n"(threads) : "memory")

extern "C" __global__ void kernel(const float* in, float* out) {
    __shared__ float tile[128];
    int t = threadIdx.x, other = t ^ 32;
    tile[t] = in[t];
    if (t < 64) {
        BAR_SYNC(1, 64);
    } else {
        BAR_SYNC(2, 64);
    }
    out[other] = tile[other];
}
