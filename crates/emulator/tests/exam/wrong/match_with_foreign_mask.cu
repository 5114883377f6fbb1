// match_any with the mask of the odd lanes, called by the even ones.
// exam: Barrier grid=1 block=32
// arg out=u32[32]:zero
extern "C" __global__ void k(unsigned *out) {
    unsigned t = threadIdx.x;
    if (t % 2 == 0) out[t] = __match_any_sync(0xaaaaaaaau, t / 4);
}
