// Blocks fetch work by an atomic counter until there is none; each piece belongs to who fetched it.
// exam: right grid=5 block=64
// arg next=u32[1]:zero out=u32[640]:none
// gives out = i*3 + 1
extern "C" __global__ void k(unsigned *next, unsigned *out) {
    __shared__ unsigned piece;
    for (;;) {
        if (threadIdx.x == 0) piece = atomicAdd(next, 1);
        __syncthreads();
        unsigned mine = piece;
        __syncthreads();
        if (mine >= 10) return;
        unsigned at = mine * 64 + threadIdx.x;
        out[at] = at * 3 + 1;
    }
}
