// A flag in shared memory is tested, but only set where something was found.
// exam: Uninitialised grid=1 block=64
// arg in=u32[64]:zero out=u32[64]:none
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
    __shared__ volatile unsigned found;
    unsigned t = threadIdx.x;
    if (in[t] > 70) found = 1;
    __syncthreads();
    out[t] = found ? 1 : 2;
}
