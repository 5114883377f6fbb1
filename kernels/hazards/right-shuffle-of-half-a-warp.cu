// hazard: half a warp shuffles under a mask that names it alone
// source: https://github.com/NVIDIA/cccl/issues/854
// verdict: right
// why: all lanes that the mask names come to the shuffle
// expect: nothing
// launch: --arch compute_80 --grid 1 --block 32 --arg out:i32[32] --expect out[0..1]=120

extern "C" __global__ void kernel(int* out) {
    int lane = threadIdx.x, sum = lane;
    if (lane < 16) {
        for (int step = 8; step > 0; step /= 2) {
            sum += __shfl_down_sync(0x0000ffff, sum, step, 16);
        }
    }
    __syncwarp();
    out[lane] = sum;
}
