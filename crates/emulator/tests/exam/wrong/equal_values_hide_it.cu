// Each thread writes its cell while its neighbour reads it; the input is such that the value stays the same.
// exam: Race grid=1 block=64
// arg in=u32[64]:zero out=u32[64]:none
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
    __shared__ unsigned a[64];
    unsigned t = threadIdx.x;
    a[t] = in[t];
    __syncthreads();
    unsigned v = a[(t + 33) % 64];
    a[t] = in[t] * 2;
    out[t] = v;
}
