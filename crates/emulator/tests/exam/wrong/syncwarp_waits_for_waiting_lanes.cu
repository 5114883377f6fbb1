// The lower half waits at a full __syncwarp; the upper half waits for a flag that is set behind it.
// exam: Barrier|NoProgress grid=1 block=32
// arg out=u32[32]:none
extern "C" __global__ void k(unsigned *out) {
    __shared__ volatile unsigned flag;
    unsigned t = threadIdx.x;
    if (t == 0) flag = 0;
    __syncwarp();
    if (t < 16) {
        __syncwarp();
        flag = 1;
    } else {
        while (flag == 0) {}
        __syncwarp();
    }
    out[t] = flag;
}
