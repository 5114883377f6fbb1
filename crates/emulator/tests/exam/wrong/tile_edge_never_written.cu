// Threads past the edge write nothing into the tile, and everyone reads all of it.
// exam: Uninitialised grid=1 block=64
// arg in=u32[60]:ramp out=u32[64]:none n=i32:60
extern "C" __global__ void k(const unsigned *in, unsigned *out, int n) {
    __shared__ unsigned a[64];
    int t = threadIdx.x;
    if (t < n) a[t] = in[t];
    __syncthreads();
    out[t] = a[63 - t];
}
