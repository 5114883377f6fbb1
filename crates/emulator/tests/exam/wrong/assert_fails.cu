// An assertion that one thread breaks.
// exam: Trap grid=1 block=32
// arg in=u32[32]:ramp out=u32[32]:none
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
    assert(in[threadIdx.x] < 31);
    out[threadIdx.x] = 1;
}
