// A maximum of floats by a compare-and-swap loop on the bits.
// exam: right grid=4 block=32
// arg in=f32[128]:rand best=f32[1]:zero
// gives best = max(IN)
extern "C" __global__ void k(const float *in, float *best) {
    float v = in[blockIdx.x * 32 + threadIdx.x];
    unsigned *p = (unsigned *)best, seen = atomicAdd(p, 0);
    while (__uint_as_float(seen) < v) {
        unsigned before = atomicCAS(p, seen, __float_as_uint(v));
        if (before == seen) break;
        seen = before;
    }
}
