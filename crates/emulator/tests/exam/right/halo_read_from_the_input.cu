// A stencil whose blocks read each other's parts of the input, which nobody writes; the result goes elsewhere.
// exam: right grid=4 block=64
// arg in=u32[256]:ramp out=u32[256]:none
// gives out = (i-1 if i else 0) + i + (i+1 if i < 255 else 0)
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
    __shared__ unsigned a[66];
    int t = threadIdx.x, at = blockIdx.x * 64 + t;
    a[t + 1] = in[at];
    if (t == 0) a[0] = at ? in[at - 1] : 0;
    if (t == 63) a[65] = at < 255 ? in[at + 1] : 0;
    __syncthreads();
    out[at] = a[t] + a[t + 1] + a[t + 2];
}
