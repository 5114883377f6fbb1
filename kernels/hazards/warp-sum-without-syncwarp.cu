// hazard: a warp adds up in shared memory as though its lanes ran in step: no __syncwarp between the rounds
// source: https://github.com/tpruvot/ccminer/pull/75
// verdict: wrong
// wrong at: sums[lane] += sums[lane + step];
// order: a lane reads what another lane has not added yet
// expect: race
// launch: --arch compute_80 --grid 1 --block 32 --arg out:i32[1] --expect out=496

extern "C" __global__ void kernel(int* out) {
    __shared__ int sums[32];
    int lane = threadIdx.x;
    sums[lane] = lane;
    __syncwarp();
    for (int step = 16; step > 0; step /= 2) {
        if (lane < step) {
            sums[lane] += sums[lane + step];  // <-- here
        }
    }
    if (lane == 0) {
        out[0] = sums[0];
    }
}
