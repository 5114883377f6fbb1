// Tiles of 33 at a pitch of 32: neighbouring blocks write one common element, with different values.
// exam: Race grid=4 block=33
// arg out=u32[129]:none
extern "C" __global__ void k(unsigned *out) { out[blockIdx.x * 32 + threadIdx.x] = blockIdx.x; }
