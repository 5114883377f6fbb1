// An index computed in 32 bits from a pitch that overflows: far outside, though each factor is small.
// exam: OutOfBounds grid=1 block=32
// arg in=u32[64]:ramp out=u32[32]:none pitch=i32:1073741825
extern "C" __global__ void k(const unsigned *in, unsigned *out, int pitch) {
    unsigned row = threadIdx.x % 4;
    out[threadIdx.x] = in[row * (long long)pitch];
}
