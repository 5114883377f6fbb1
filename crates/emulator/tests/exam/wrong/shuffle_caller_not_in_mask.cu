// All lanes call a shuffle, with a mask that leaves lane 31 out.
// exam: Barrier grid=1 block=32
// arg out=u32[32]:none
extern "C" __global__ void k(unsigned *out) {
    unsigned t = threadIdx.x;
    out[t] = __shfl_xor_sync(0x7fffffffu, t, 1);
}
