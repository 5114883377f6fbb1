// __syncthreads_count, _and and _or: barriers with a result.
// exam: right grid=1 block=100
// arg out=u32[100]:none
// gives out = 50 + 0 + 2
extern "C" __global__ void k(unsigned *out) {
    unsigned t = threadIdx.x;
    unsigned n = __syncthreads_count(t % 2);
    unsigned all = __syncthreads_and(t < 99);
    unsigned any = __syncthreads_or(t == 99);
    out[t] = n + all + 2 * any;
}
