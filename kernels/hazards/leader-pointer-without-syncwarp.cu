// hazard: lane 0 puts an offset into shared memory, and the other lanes use it in the next line
// source: https://github.com/ORNL/HeCBench/pull/221
// verdict: wrong
// wrong at: out[lane] = in[offset + lane];
// order: a lane reads the offset before lane 0 has written it
// expect: race | uninitialised
// launch: --arch compute_80 --grid 1 --block 32 --arg in:i32[64]=range --arg out:i32[32] --expect out=range

extern "C" __global__ void kernel(const int* in, int* out) {
    __shared__ int offset;
    int lane = threadIdx.x;
    if (lane == 0) {
        offset = in[0];  // <-- with
    }
    out[lane] = in[offset + lane];  // <-- here
}
