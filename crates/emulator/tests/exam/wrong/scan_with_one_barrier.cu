// A scan in shared memory whose steps read and write the same array with one barrier per step.
// exam: Race grid=1 block=64
// arg in=u32[64]:ramp out=u32[64]:none
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
    __shared__ unsigned a[64];
    unsigned t = threadIdx.x;
    a[t] = in[t];
    __syncthreads();
    for (unsigned d = 1; d < 64; d *= 2) {
        if (t >= d) a[t] += a[t - d];
        __syncthreads();
    }
    out[t] = a[t];
}
