// redux.sync over a mask that holds a lane which is not there.
// exam: Barrier grid=1 block=32 sm=80
// arg out=u32[32]:none
extern "C" __global__ void k(unsigned *out) {
    unsigned t = threadIdx.x;
    unsigned v = 0;
    if (t < 8) v = __reduce_add_sync(0x000001ffu, t);
    __syncwarp();
    out[t] = v;
}
