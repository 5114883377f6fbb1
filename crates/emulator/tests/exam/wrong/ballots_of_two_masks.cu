// The lanes of one warp vote together, the lower half by the mask of itself, the upper half by the full mask.
// exam: Barrier grid=1 block=32
// arg out=u32[32]:none
extern "C" __global__ void k(unsigned *out) {
    unsigned t = threadIdx.x, mask = t < 16 ? 0x0000ffffu : 0xffffffffu;
    out[t] = __ballot_sync(mask, t % 2);
}
