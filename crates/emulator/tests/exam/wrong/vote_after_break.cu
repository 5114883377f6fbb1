// Lanes break out of a loop, but do not exit; those that go on vote with the full mask.
// exam: Barrier grid=1 block=32
// arg out=u32[32]:none
extern "C" __global__ void k(unsigned *out) {
    unsigned t = threadIdx.x, total = 0;
    for (unsigned i = 0; i < 8; ++i) {
        if (i > t) break;
        total += __popc(__ballot_sync(0xffffffffu, 1));
    }
    __syncwarp();
    out[t] = total;
}
