// An index that is meant for the second array is used on the first one.
// exam: OutOfBounds grid=1 block=32
// arg a=u32[64]:ramp b=u32[64]:ramp out=u32[32]:none
extern "C" __global__ void k(const unsigned *a, const unsigned *b, unsigned *out) {
    unsigned t = threadIdx.x;
    out[t] = a[64 + t] + b[t];
}
