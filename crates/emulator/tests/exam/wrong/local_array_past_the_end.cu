// An array of a thread's own, read at an index up to 8 of 8.
// exam: OutOfBounds grid=1 block=32
// arg in=u32[32]:ramp out=u32[32]:none
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
    volatile unsigned a[8];
    unsigned t = threadIdx.x;
    for (unsigned j = 0; j < 8; ++j) a[j] = j + t;
    out[t] = a[in[t] % 9];
}
