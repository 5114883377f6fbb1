// The lower half shuffles among itself, by its mask, but reads lanes of the upper half.
// exam: Barrier|Uninitialised grid=1 block=32
// arg out=u32[32]:zero
extern "C" __global__ void k(unsigned *out) {
    unsigned t = threadIdx.x, v = t * 3;
    if (t < 16) out[t] = __shfl_down_sync(0x0000ffffu, v, 8);
}
