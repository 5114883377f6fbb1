// The ticket is an atomic of cta scope, though all blocks share it.
// exam: Race grid=6 block=32
// arg part=u32[6]:none ticket=u32[1]:zero out=u32[1]:none
extern "C" __global__ void k(unsigned *part, unsigned *ticket, unsigned *out) {
    if (threadIdx.x) return;
    part[blockIdx.x] = blockIdx.x * 10;
    __threadfence();
    if (atomicAdd_block(ticket, 1) == gridDim.x - 1) {
        __threadfence();
        unsigned sum = 0;
        for (unsigned b = 0; b < gridDim.x; ++b) sum += part[b];
        *out = sum;
    }
}
