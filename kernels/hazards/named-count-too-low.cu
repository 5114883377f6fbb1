// hazard: four warps hand data round under a named barrier that two of them complete
// source: https://github.com/NVIDIA/cutlass/issues/2672
// verdict: wrong
// wrong at: out[127 - t] = tile[127 - t];
// order: warps 0 and 1 pass, and read what warps 2 and 3 have not written yet
// expect: race | uninitialised
// launch: --arch compute_80 --grid 1 --block 128 --arg in:f32[128]=range --arg out:f32[128] --expect out=range

#define BAR_SYNC(id, threads) asm volatile("bar.sync %0, %1;" ::"n"(id), "n"(threads) : "memory")

extern "C" __global__ void kernel(const float* in, float* out) {
    __shared__ float tile[128];
    int t = threadIdx.x;
    tile[t] = in[t];  // <-- with
    BAR_SYNC(1, 64);
    out[127 - t] = tile[127 - t];  // <-- here
}
