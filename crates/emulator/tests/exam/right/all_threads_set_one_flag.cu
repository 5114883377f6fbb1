// Several threads write the same 1 to a shared flag, as is often done for "found": whoever wins, it is 1.
// exam: right grid=2 block=64
// arg in=u32[128]:ramp out=u32[2]:none
// gives out = 0 if i == 0 else 1
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
    __shared__ unsigned found;
    if (threadIdx.x == 0) found = 0;
    __syncthreads();
    if (in[blockIdx.x * 64 + threadIdx.x] > 70) found = 1;
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = found;
}
