// A full-mask shuffle in a branch of the lower half; the upper half is elsewhere, and has not exited.
// exam: Barrier grid=1 block=32
// arg out=u32[32]:none
extern "C" __global__ void k(unsigned *out) {
    unsigned t = threadIdx.x, v = t * 3;
    if (t < 16) v += __shfl_xor_sync(0xffffffffu, v, 1);
    else v = t * 5;
    __syncwarp();
    out[t] = v;
}
