// One warp tells another by a volatile flag in shared memory, with __threadfence_block on both sides.
// exam: right grid=1 block=64
// arg out=u32[32]:none
// gives out = 3*i
extern "C" __global__ void k(unsigned *out) {
    __shared__ unsigned a[32];
    __shared__ volatile unsigned flag;
    unsigned t = threadIdx.x;
    if (t == 0) flag = 0;
    __syncthreads();
    if (t < 32) {
        a[t] = 3 * t;
        __threadfence_block();
        __syncwarp();
        if (t == 0) flag = 1;
    } else {
        if (t == 32) while (!flag) {}
        __syncwarp();
        __threadfence_block();
        out[t - 32] = a[t - 32];
    }
}
