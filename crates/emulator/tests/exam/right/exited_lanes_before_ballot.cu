// A ballot and a vote with the full mask after some lanes have left: they count as not there.
// exam: right grid=1 block=32
// arg out=u32[32]:zero n=i32:20
// gives out = (0x55555 + 1) if i < 20 else 0
extern "C" __global__ void k(unsigned *out, int n) {
    int t = threadIdx.x;
    if (t >= n) return;
    unsigned even = __ballot_sync(0xffffffffu, t % 2 == 0);
    int all = __all_sync(0xffffffffu, t < n);
    out[t] = even + all;
}
