// A histogram with 16 bins, counted modulo 17.
// exam: OutOfBounds grid=1 block=64
// arg in=u32[64]:ramp bins=u32[16]:zero
extern "C" __global__ void k(const unsigned *in, unsigned *bins) {
    atomicAdd(&bins[in[threadIdx.x] % 17], 1);
}
