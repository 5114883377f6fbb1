// Warps count in a volatile shared cell: volatile makes no read-modify-write of one piece.
// exam: Race grid=1 block=128
// arg out=u32[1]:none
extern "C" __global__ void k(unsigned *out) {
    __shared__ volatile unsigned n;
    if (threadIdx.x == 0) n = 0;
    __syncthreads();
    if (threadIdx.x % 32 == 0) n = n + 1;
    __syncthreads();
    if (threadIdx.x == 0) *out = n;
}
