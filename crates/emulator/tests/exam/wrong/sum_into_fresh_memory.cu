// Adds to an output that the host allocated and never cleared.
// exam: Uninitialised grid=2 block=32
// arg in=u32[64]:ramp out=u32[64]:none
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
    unsigned t = blockIdx.x * 32 + threadIdx.x;
    out[t] += in[t];
}
