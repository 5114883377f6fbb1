// Each thread writes two words, of which the second one is its neighbour's first one.
// exam: Race grid=1 block=64
// arg out=u32[64]:none
extern "C" __global__ void k(unsigned *out) {
    __shared__ unsigned a[65];
    unsigned t = threadIdx.x;
    a[t] = t;
    a[t + 1] = t;
    __syncthreads();
    out[t] = a[t];
}
