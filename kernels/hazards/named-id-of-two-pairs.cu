// hazard: two pairs of warps use one barrier number at the same time: a warp of each pair may complete it
// source: https://github.com/flashinfer-ai/flashinfer/pull/4533
// verdict: wrong
// wrong at: out[other] = tile[other];
// order: warps 0 and 2 complete the barrier; warp 0 reads what warp 1 has not written yet
// expect: race | uninitialised
// launch: --arch compute_80 --grid 1 --block 128 --arg in:f32[128]=range --arg out:f32[128] --expect out=range

#define BAR_SYNC(id, threads) asm volatile("bar.sync %0, %1;" ::"n"(id), "n"(threads) : "memory")

extern "C" __global__ void kernel(const float* in, float* out) {
    __shared__ float tile[128];
    int t = threadIdx.x, other = t ^ 32;
    tile[t] = in[t];  // <-- with
    if (t < 64) {
        BAR_SYNC(1, 64);
    } else {
        BAR_SYNC(1, 64);
    }
    out[other] = tile[other];  // <-- here
}
