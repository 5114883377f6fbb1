// ld.global.nc of a buffer that the launch does not write, beside one that it does.
// exam: right grid=2 block=64
// arg in=u32[128]:ramp out=u32[128]:none
// gives out = i + (i^1)
extern "C" __global__ void k(const unsigned *__restrict__ in, unsigned *__restrict__ out) {
    unsigned t = blockIdx.x * 64 + threadIdx.x;
    out[t] = __ldg(in + t) + __ldg(in + (t ^ 1));
}
