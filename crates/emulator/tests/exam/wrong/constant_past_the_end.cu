// A table of four in constant memory, read at index 4.
// exam: OutOfBounds grid=1 block=32
// arg in=u32[32]:ramp out=u32[32]:none
__constant__ unsigned table[4] = {1, 2, 3, 4};
extern "C" __global__ void k(const unsigned *in, unsigned *out) { out[threadIdx.x] = table[in[threadIdx.x] % 5]; }
