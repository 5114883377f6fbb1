// hazard: half a warp shuffles under a mask that names all lanes
// source: https://github.com/NVIDIA/cccl/issues/854
// verdict: wrong
// wrong at: sum += __shfl_down_sync(0xffffffff, sum, step, 16);
// order: every order: lanes 16 to 31 never come to this shuffle
// expect: barrier | hang
// launch: --arch compute_80 --grid 1 --block 32 --arg out:i32[32] --expect out[0..1]=120

extern "C" __global__ void kernel(int* out) {
    int lane = threadIdx.x, sum = lane;
    if (lane < 16) {
        for (int step = 8; step > 0; step /= 2) {
            sum += __shfl_down_sync(0xffffffff, sum, step, 16);  // <-- here
        }
    }
    __syncwarp();
    out[lane] = sum;
}
