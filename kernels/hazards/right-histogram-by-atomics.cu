// hazard: threads add to the same bins by atomics with no barrier between the additions
// source: pattern of histograms in shared memory
// verdict: right
// why: atomics do not race with each other
// expect: nothing
// launch: --arch compute_80 --grid 1 --block 128 --arg out:i32[8] --expect out=16

extern "C" __global__ void kernel(int* out) {
    __shared__ int bins[8];
    int t = threadIdx.x;
    if (t < 8) {
        bins[t] = 0;
    }
    __syncthreads();
    atomicAdd(&bins[t % 8], 1);
    __syncthreads();
    if (t < 8) {
        out[t] = bins[t];
    }
}
