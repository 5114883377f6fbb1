// A table in constant memory, read at an index that differs from lane to lane.
// exam: right grid=1 block=64
// arg out=u32[64]:none
// gives out = [2,3,5,7,11,13,17,19][(i*3)%8] + (i%8)
__constant__ unsigned primes[8] = {2, 3, 5, 7, 11, 13, 17, 19};
extern "C" __global__ void k(unsigned *out) {
    unsigned t = threadIdx.x;
    out[t] = primes[(t * 3) % 8] + t % 8;
}
