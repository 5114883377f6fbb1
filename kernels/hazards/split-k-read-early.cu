// hazard: block 0 adds the parts of all blocks as though they came before it: blocks have no order
// source: pattern of split-K reductions that take the order of blocks for granted
// verdict: wrong
// wrong at: sum += part[128 * i + t];
// order: block 0 reads the parts before the other blocks have written them
// expect: race | uninitialised
// launch: --arch compute_80 --grid 8 --block 128 --arg part:f32[1024] --arg out:f32[128] --expect out=36

extern "C" __global__ void kernel(float* part, float* out) {
    int t = threadIdx.x;
    part[128 * blockIdx.x + t] = blockIdx.x + 1;  // <-- with
    __threadfence();
    __syncthreads();
    if (blockIdx.x == 0) {
        float sum = 0;
        for (int i = 0; i < gridDim.x; ++i) {
            sum += part[128 * i + t];  // <-- here
        }
        out[t] = sum;
    }
}
