// Lanes with the same key find each other by match_any and one of them adds for all; the mask is the lanes that take part.
// exam: right grid=4 block=64
// arg key=u32[256]:ramp bins=u32[8]:zero
// gives bins = sum(1 for t in range(256) if t%8==i and t%3)
extern "C" __global__ void k(const unsigned *key, unsigned *bins) {
    unsigned t = blockIdx.x * 64 + threadIdx.x, lane = threadIdx.x % 32;
    bool takes_part = key[t] % 3 != 0;
    unsigned mask = __ballot_sync(0xffffffffu, takes_part);
    if (takes_part) {
        unsigned peers = __match_any_sync(mask, key[t] % 8);
        if (__ffs(peers) - 1 == lane) atomicAdd(&bins[key[t] % 8], __popc(peers));
    }
}
