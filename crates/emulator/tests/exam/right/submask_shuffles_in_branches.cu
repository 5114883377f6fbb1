// Each half of a warp shuffles in its own branch, with the mask of exactly its lanes.
// exam: right grid=1 block=32
// arg out=u32[32]:none
// gives out = (i+1)%16 if i < 16 else 16 + (i+14)%16
extern "C" __global__ void k(unsigned *out) {
    unsigned lane = threadIdx.x;
    if (lane < 16) {
        out[lane] = __shfl_sync(0x0000ffffu, lane, lane + 1, 16);
    } else {
        out[lane] = __shfl_sync(0xffff0000u, lane, lane + 14, 16);
    }
}
