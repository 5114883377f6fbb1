// hazard: all lanes write their padding, and that of the upper half lies on the words which every eighth lane writes
// source: https://github.com/ggml-org/llama.cpp/pull/28358
// verdict: wrong
// wrong at: scales[lane / 8] = 7;
// order: the zero of lane 16 comes after the scale of lane 0
// expect: race
// launch: --arch compute_80 --grid 1 --block 32 --arg out:i32[32] --expect out[0..16]=range --expect out[16..20]=7

extern "C" __global__ void kernel(int* out) {
    __shared__ int words[32];
    int lane = threadIdx.x;
    int* scales = words + 16;
    words[lane] = lane < 16 ? lane : 0;  // <-- with
    if (lane % 8 == 0) {
        scales[lane / 8] = 7;  // <-- here
    }
    __syncwarp();
    out[lane] = words[lane];
}
