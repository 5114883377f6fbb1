// hazard: several threads write the same flag, each by a relaxed store: morally strong writes do not race
// source: pattern of a found-flag that many threads set
// verdict: right
// why: volatile accesses of shared memory are relaxed and strong; the reads are behind a barrier
// expect: nothing
// launch: --arch compute_80 --grid 1 --block 128 --arg in:i32[128]=range --arg out:i32[128] --expect out=1

extern "C" __global__ void kernel(const int* in, int* out) {
    __shared__ int found;
    int t = threadIdx.x;
    if (t == 0) {
        *(volatile int*)&found = 0;
    }
    __syncthreads();
    if (in[t] % 3 == 0) {
        *(volatile int*)&found = 1;
    }
    __syncthreads();
    out[t] = *(volatile int*)&found;
}
