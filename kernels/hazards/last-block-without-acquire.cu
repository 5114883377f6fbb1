// hazard: the block that counts last reads the others' parts with no fence behind its atomic
// source: https://github.com/pytorch/pytorch/pull/128455
// verdict: wrong
// wrong at: sum += part[128 * i + t];
// order: the parts are read before the count
// expect: race | uninitialised
// launch: --arch compute_80 --grid 8 --block 128 --arg part:f32[1024] --arg count:u32[1]=zeros --arg out:f32[128] --expect out=36

extern "C" __global__ void kernel(float* part, unsigned* count, float* out) {
    __shared__ bool last;
    int t = threadIdx.x;
    part[128 * blockIdx.x + t] = blockIdx.x + 1;  // <-- with
    __threadfence();
    __syncthreads();
    if (t == 0) {
        last = atomicAdd(count, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last) {
        float sum = 0;
        for (int i = 0; i < gridDim.x; ++i) {
            sum += part[128 * i + t];  // <-- here
        }
        out[t] = sum;
    }
}
