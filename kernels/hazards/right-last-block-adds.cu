// hazard: the block that counts last adds all parts, with fences on both sides of the count, and resets it for the next launch
// source: https://github.com/pytorch/pytorch/pull/128455
// verdict: right
// why: fence, atomic; atomic, fence; the reset is ordered before the next launch
// expect: nothing
// launch: --arch compute_80 --grid 8 --block 128 --launch kernel --arg part:f32[1024] --arg count:u32[1]=zeros --arg once:f32[128]
// launch: --launch kernel --arg part --arg count --arg out:f32[128] --expect once=36 --expect out=36

extern "C" __global__ void kernel(float* part, unsigned* count, float* out) {
    __shared__ bool last;
    int t = threadIdx.x;
    part[128 * blockIdx.x + t] = blockIdx.x + 1;
    __threadfence();
    __syncthreads();
    if (t == 0) {
        last = atomicAdd(count, 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (last) {
        float sum = 0;
        for (int i = 0; i < gridDim.x; ++i) {
            sum += part[128 * i + t];
        }
        out[t] = sum;
        if (t == 0) {
            *count = 0;
        }
    }
}
