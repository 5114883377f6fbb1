// __syncthreads in a branch that half of each warp takes.
// exam: Barrier grid=1 block=64
// arg out=u32[64]:none
extern "C" __global__ void k(unsigned *out) {
    __shared__ unsigned a[64];
    unsigned t = threadIdx.x;
    a[t] = t;
    if (t % 32 < 16) {
        __syncthreads();
        out[t] = a[t + 1];
    } else {
        out[t] = 0;
    }
}
