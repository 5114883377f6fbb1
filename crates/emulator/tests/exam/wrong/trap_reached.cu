// __trap for an input that must not come.
// exam: Trap grid=1 block=32
// arg in=u32[32]:ramp out=u32[32]:none
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
    if (in[threadIdx.x] == 17) __trap();
    out[threadIdx.x] = 1;
}
