// A thread puts the address of its own local variable into shared memory, and its neighbour follows it.
// exam: OutOfBounds|Uninitialised grid=1 block=2
// arg out=u32[2]:none
extern "C" __global__ void k(unsigned *out) {
    __shared__ unsigned long long where[2];
    volatile unsigned mine[2];
    unsigned t = threadIdx.x;
    if (t == 0) {
        mine[0] = 5;
        mine[1] = 6;
        where[0] = (unsigned long long)mine;
    }
    __syncthreads();
    out[t] = *(volatile unsigned *)where[0];
}
