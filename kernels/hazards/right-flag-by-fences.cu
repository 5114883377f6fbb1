// hazard: the same by __threadfence and a volatile flag: fence, strong write; strong read, fence
// source: pattern of CUTLASS's Semaphore before it had acquire and release
// verdict: right
// why: a fence before a relaxed write is a release pattern, one behind a relaxed read an acquire pattern
// expect: nothing
// launch: --arch compute_80 --grid 2 --block 128 --arg in:f32[128]=range --arg part:f32[128] --arg flag:u32[1]=zeros --arg out:f32[128]
// launch: --expect out=range

extern "C" __global__ void kernel(const float* in, float* part, volatile unsigned* flag, float* out) {
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        part[t] = in[t];
        __syncthreads();
        if (t == 0) {
            __threadfence();
            *flag = 1;
        }
    } else {
        if (t == 0) {
            while (*flag == 0) {
            }
            __threadfence();
        }
        __syncthreads();
        out[127 - t] = part[127 - t];
    }
}
