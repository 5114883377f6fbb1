// The ticket itself is atom.acq_rel.gpu, and barriers stand before and after: no fence is needed.
// exam: right grid=7 block=64
// arg part=u32[448]:none ticket=u32[1]:zero out=u32[64]:none
// gives out = sum(b + i for b in range(7))
extern "C" __global__ void k(unsigned *part, unsigned *ticket, unsigned *out) {
    __shared__ unsigned mine;
    unsigned t = threadIdx.x;
    part[blockIdx.x * 64 + (t ^ 33)] = blockIdx.x + (t ^ 33);
    __syncthreads();
    if (t == 0) {
        unsigned old;
        asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;" : "=r"(old) : "l"(ticket) : "memory");
        mine = old;
    }
    __syncthreads();
    if (mine == gridDim.x - 1) {
        unsigned sum = 0;
        for (unsigned b = 0; b < gridDim.x; ++b) sum += part[b * 64 + t];
        out[t] = sum;
    }
}
