// Every block writes its sum, fences, and takes a ticket; the block with the last ticket adds all sums.
// exam: right grid=6 block=64
// arg in=u32[384]:ramp part=u32[6]:none ticket=u32[1]:zero out=u32[1]:none
// gives out = sum(range(384))
extern "C" __global__ void k(const unsigned *in, unsigned *part, unsigned *ticket, unsigned *out) {
    __shared__ unsigned a[64];
    __shared__ bool last;
    unsigned t = threadIdx.x;
    a[t] = in[blockIdx.x * 64 + t];
    __syncthreads();
    for (unsigned d = 32; d; d /= 2) {
        if (t < d) a[t] += a[t + d];
        __syncthreads();
    }
    if (t == 0) {
        part[blockIdx.x] = a[0];
        __threadfence();
        last = atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && t == 0) {
        __threadfence();
        unsigned sum = 0;
        for (unsigned b = 0; b < gridDim.x; ++b) sum += part[b];
        *out = sum;
    }
}
