// Input and output are declared __restrict__, so the input is read by ld.global.nc; the launch passes the same array.
// exam: Race grid=2 block=32
// arg a=u32[65]:ramp b=a
extern "C" __global__ void k(const unsigned *__restrict__ in, unsigned *__restrict__ out) {
    unsigned t = blockIdx.x * 32 + threadIdx.x;
    out[t] = in[t + 1] * 2;
}
