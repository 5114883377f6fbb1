// hazard: a block barrier in a branch that every other warp takes: it meets the barrier behind the branch
// source: https://github.com/ggml-org/llama.cpp/pull/27870
// verdict: wrong
// wrong at: __syncthreads();
// order: warps 1 and 3 pass their barrier before warps 0 and 2 have written behind theirs
// expect: barrier | race | uninitialised
// launch: --arch compute_80 --grid 1 --block 128 --arg in:f32[128]=range --arg out:f32[128] --expect out=range

extern "C" __global__ void kernel(const float* in, float* out) {
    __shared__ float first[128], second[128];
    int t = threadIdx.x;
    first[t] = in[t];
    if (t / 32 % 2 == 0) {
        __syncthreads();  // <-- here
        second[t] = first[t ^ 64];
        second[t ^ 32] = first[t ^ 96];
    }
    __syncthreads();  // <-- with
    out[t ^ 64] = second[t];
}
