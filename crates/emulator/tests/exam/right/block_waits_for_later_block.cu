// Block 0 waits until the last of four blocks has delivered; all four fit on a GPU at once.
// exam: right grid=4 block=32
// arg data=u32[32]:none flag=u32[1]:zero out=u32[32]:none
// gives out = i*7
extern "C" __global__ void k(unsigned *data, unsigned *flag, unsigned *out) {
    unsigned t = threadIdx.x;
    if (blockIdx.x == 3) {
        data[t] = t * 7;
        __threadfence();
        __syncwarp();
        if (t == 0) atomicExch(flag, 1);
    } else if (blockIdx.x == 0) {
        if (t == 0) while (atomicAdd(flag, 0) == 0) {}
        __syncwarp();
        __threadfence();
        out[t] = data[t];
    }
}
