// One warp waits for a flag that the other sets after its data.
extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ float As[32];
    __shared__ volatile int ready;
    if (threadIdx.x == 0) ready = 0;
    __syncthreads();
    int lane = threadIdx.x % 32;
    if (threadIdx.x < 32) {
        while (ready == 0) {
        }
        __threadfence_block();
        C[lane] = As[31 - lane];
    } else {
        As[lane] = A[lane];
        __threadfence_block();
        __syncwarp();
        if (lane == 0) ready = 1;
    }
}
