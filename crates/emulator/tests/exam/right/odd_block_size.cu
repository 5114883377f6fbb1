// A block of 50 threads: the last warp has 18 lanes, and still votes and shuffles with the full mask.
// exam: right grid=2 block=50
// arg out=u32[100]:none
// gives out = (32 if i%50 < 32 else 18)
extern "C" __global__ void k(unsigned *out) {
    __shared__ unsigned a[50];
    unsigned t = threadIdx.x;
    unsigned n = __popc(__ballot_sync(0xffffffffu, 1));
    unsigned first = __shfl_sync(0xffffffffu, n, 0);
    a[t] = first;
    __syncthreads();
    out[blockIdx.x * 50 + t] = a[t / 32 * 32];
}
