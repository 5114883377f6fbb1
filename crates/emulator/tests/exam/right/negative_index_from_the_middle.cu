// A pointer to the middle of a buffer, and negative indices from it; a pointer one past the end, never followed.
// exam: right grid=1 block=32
// arg in=u32[64]:ramp out=u32[32]:none
// gives out = sum(range(i, 64))
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
    int t = threadIdx.x;
    const unsigned *middle = in + 32, *end = in + 64;
    unsigned sum = 0;
    for (const unsigned *p = middle + (t - 32); p != end; ++p) sum += *p;
    out[t] = sum;
}
