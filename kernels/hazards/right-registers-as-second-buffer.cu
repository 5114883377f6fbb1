// hazard: the next tile waits in registers while the one in shared memory is read
// source: pattern of double buffering by registers
// verdict: right
// why: the write is between two block barriers
// expect: nothing
// launch: --arch compute_80 --grid 1 --block 128 --arg in:f32[1024]=range --arg out:f32[1024] --arg steps:i32=8 --expect out=range

extern "C" __global__ void kernel(const float* in, float* out, int steps) {
    __shared__ float tile[128];
    int t = threadIdx.x, other = 127 - t;
    float next = in[t];
    for (int s = 0; s < steps; ++s) {
        tile[t] = next;
        __syncthreads();
        if (s + 1 < steps) {
            next = in[128 * (s + 1) + t];
        }
        out[128 * s + other] = tile[other];
        __syncthreads();
    }
}
