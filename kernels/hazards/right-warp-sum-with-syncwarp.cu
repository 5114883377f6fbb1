// hazard: a warp adds up in shared memory with a __syncwarp between the rounds
// source: https://github.com/tpruvot/ccminer/pull/75
// verdict: right
// why: __syncwarp orders memory among the lanes that take part
// expect: nothing
// launch: --arch compute_80 --grid 1 --block 32 --arg out:i32[1] --expect out=496

extern "C" __global__ void kernel(int* out) {
    __shared__ int sums[32];
    int lane = threadIdx.x;
    sums[lane] = lane;
    __syncwarp();
    for (int step = 16; step > 0; step /= 2) {
        if (lane < step) {
            sums[lane] += sums[lane + step];
        }
        __syncwarp();
    }
    if (lane == 0) {
        out[0] = sums[0];
    }
}
