// Compiled for blocks of 128 threads (.reqntid), launched with 64.
// exam: Refused grid=1 block=64 sm=90
// arg out=u32[64]:none
extern "C" __global__ void __block_size__((128, 1, 1)) k(unsigned *out) { out[threadIdx.x] = threadIdx.x; }
