// An array of a thread's own is filled but for its last cell, which some threads read.
// exam: Uninitialised grid=1 block=32
// arg in=u32[32]:ramp out=u32[32]:none
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
    volatile unsigned a[8];
    unsigned t = threadIdx.x;
    for (unsigned j = 0; j < 7; ++j) a[j] = j + t;
    out[t] = a[in[t] % 8];
}
