// hazard: two block sums in a row use one scratch array with no barrier between the reads of the first and the writes of the second
// source: https://github.com/pytorch/pytorch/pull/162995
// verdict: wrong
// wrong at: scratch[t / 32] = sum;
// order: a fast warp writes its second sum where a slow warp still reads the first
// expect: race
// launch: --arch compute_80 --grid 1 --block 128 --arg out:i32[256] --expect out[0..128]=8128 --expect out[128..256]=16256

__device__ int warp_sum(int value) {
    for (int step = 16; step > 0; step /= 2) {
        value += __shfl_xor_sync(0xffffffff, value, step);
    }
    return value;
}

extern "C" __global__ void kernel(int* out) {
    __shared__ int scratch[4];
    int t = threadIdx.x;
    for (int pass = 0; pass < 2; ++pass) {
        int sum = warp_sum(t * (pass + 1));
        if (t % 32 == 0) {
            scratch[t / 32] = sum;  // <-- here
        }
        __syncthreads();
        out[128 * pass + t] = scratch[0] + scratch[1] + scratch[2] + scratch[3];  // <-- with
    }
}
