// An array of a thread's own, written at index -4.
// exam: OutOfBounds grid=1 block=32
// arg in=u32[32]:ramp out=u32[32]:none
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
    volatile unsigned a[8];
    int t = threadIdx.x;
    for (int j = 0; j < 8; ++j) a[j] = j + t;
    a[(int)in[t] % 8 - 4] = 1;
    out[t] = a[3];
}
