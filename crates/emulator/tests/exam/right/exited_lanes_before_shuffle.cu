// Lanes past the end leave; the rest sum in pairs by a full-mask shuffle that never reads a lane that left.
// exam: right grid=1 block=64
// arg in=u32[64]:ramp out=u32[64]:zero n=i32:52
// gives out = (i + (i^1) + ((i^2) + (i^3))) if i < 52 else 0
extern "C" __global__ void k(const unsigned *in, unsigned *out, int n) {
    int t = threadIdx.x;
    if (t >= n) return;
    unsigned v = in[t];
    v += __shfl_xor_sync(0xffffffffu, v, 1);
    v += __shfl_xor_sync(0xffffffffu, v, 2);
    out[t] = v;
}
