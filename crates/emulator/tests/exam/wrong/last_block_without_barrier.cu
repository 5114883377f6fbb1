// Each thread writes and fences, but thread 0 takes the ticket without waiting for the others.
// exam: Race grid=5 block=96
// arg part=u32[480]:none ticket=u32[1]:zero out=u32[96]:none
extern "C" __global__ void k(unsigned *part, unsigned *ticket, unsigned *out) {
    __shared__ unsigned mine;
    unsigned t = threadIdx.x;
    part[blockIdx.x * 96 + t] = blockIdx.x * 1000 + t;
    __threadfence();
    if (t == 0) mine = atomicAdd(ticket, 1);
    __syncthreads();
    if (mine != gridDim.x - 1) return;
    __threadfence();
    unsigned sum = 0;
    for (unsigned b = 0; b < gridDim.x; ++b) sum += part[b * 96 + t];
    out[t] = sum;
}
