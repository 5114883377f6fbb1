// redux.sync over the lanes of a branch.
// exam: right grid=1 block=32 sm=80
// arg out=u32[32]:none
// gives out = sum(j for j in range(32) if j%3==0) if i%3==0 else max(j for j in range(32) if j%3)
extern "C" __global__ void k(unsigned *out) {
    unsigned lane = threadIdx.x;
    unsigned thirds = __ballot_sync(0xffffffffu, lane % 3 == 0);
    if (lane % 3 == 0) out[lane] = __reduce_add_sync(thirds, lane);
    else out[lane] = __reduce_max_sync(~thirds, lane);
}
