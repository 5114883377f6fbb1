// A tile is filled up to n only, and read up to n only.
// exam: right grid=1 block=64
// arg in=u32[45]:ramp out=u32[45]:none n=i32:45
// gives out = 44 - i
extern "C" __global__ void k(const unsigned *in, unsigned *out, int n) {
    __shared__ unsigned a[64];
    int t = threadIdx.x;
    if (t < n) a[t] = in[t];
    __syncthreads();
    if (t < n) out[t] = a[n - 1 - t];
}
