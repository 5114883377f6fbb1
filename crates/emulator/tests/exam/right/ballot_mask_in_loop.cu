// Lanes leave a loop after different trips; the others vote with the mask of those that go on, taken before they part.
// exam: right grid=1 block=32
// arg out=u32[32]:none
// gives out = sum(32 - j for j in range(0, i+1))
extern "C" __global__ void k(unsigned *out) {
    unsigned lane = threadIdx.x, total = 0, mask = 0xffffffffu;
    for (unsigned trip = 0;; ++trip) {
        unsigned next = __ballot_sync(mask, trip <= lane);
        if (trip > lane) break;
        mask = next;
        total += __popc(__ballot_sync(mask, 1));
    }
    __syncwarp();
    out[lane] = total;
}
