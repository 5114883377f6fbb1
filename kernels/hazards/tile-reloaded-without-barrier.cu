// hazard: the tile is loaded anew at the top of the loop while other warps still read the last one
// source: https://github.com/ggml-org/llama.cpp/pull/26434
// verdict: wrong
// wrong at: tile[t] = in[128 * s + t];
// order: a fast warp writes step s + 1 over what a slow warp reads in step s
// expect: race
// launch: --arch compute_80 --grid 1 --block 128 --arg in:f32[1024]=range --arg out:f32[1024] --arg steps:i32=8 --expect out=range

extern "C" __global__ void kernel(const float* in, float* out, int steps) {
    __shared__ float tile[128];
    int t = threadIdx.x, other = 127 - t;
    for (int s = 0; s < steps; ++s) {
        tile[t] = in[128 * s + t];  // <-- here
        __syncthreads();
        out[128 * s + other] = tile[other];  // <-- with
    }
}
