// Warp-synchronous code of the old kind: volatile shared memory, in steps of one warp.
extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ volatile float sums[64];
    int i = threadIdx.x;
    sums[i] = A[i];
    __syncthreads();
    if (i < 32) {
        float sum = sums[i] + sums[i + 32];
        for (int by = 16; by > 0; by /= 2) {
            __syncwarp();
            sums[i] = sum;
            __syncwarp();
            sum += sums[(i + by) % 32];
        }
        if (i == 0) *C = sum;
    }
}
