// hazard: two buffers and one block barrier in each step: a write is two steps behind the reads of its buffer
// source: pattern of double buffering in shared memory
// verdict: right
// why: who writes step s + 2 has passed the barrier of step s + 1, which is behind all reads of step s
// expect: nothing
// launch: --arch compute_80 --grid 1 --block 128 --arg in:f32[1024]=range --arg out:f32[1024] --arg steps:i32=8 --expect out=range

extern "C" __global__ void kernel(const float* in, float* out, int steps) {
    __shared__ float tile[2][128];
    int t = threadIdx.x, other = 127 - t;
    for (int s = 0; s < steps; ++s) {
        tile[s % 2][t] = in[128 * s + t];
        __syncthreads();
        out[128 * s + other] = tile[s % 2][other];
    }
}
