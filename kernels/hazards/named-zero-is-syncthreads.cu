// hazard: two warps meet at barrier 0 with 64 threads, where the other two already wait in __syncthreads
// source: https://github.com/tile-ai/TileOPs/pull/1633
// verdict: wrong
// wrong at: BAR_SYNC(0, 64);
// order: warps 2 and 3 come first; the barrier is completed by warps of both uses
// expect: barrier | race | hang
// launch: --arch compute_80 --grid 1 --block 128 --arg in:f32[128]=range --arg out:f32[128] --expect out=range

#define BAR_SYNC(id, threads) asm volatile("bar.sync %0, %1;" ::"n"(id), "n"(threads) : "memory")

extern "C" __global__ void kernel(const float* in, float* out) {
    __shared__ float tile[128];
    int t = threadIdx.x;
    tile[t] = in[t];
    if (t < 64) {
        BAR_SYNC(0, 64);  // <-- here
        out[t ^ 32] = tile[t ^ 32];
    }
    __syncthreads();  // <-- with
    if (t >= 64) {
        out[191 - t] = tile[191 - t];
    }
}
