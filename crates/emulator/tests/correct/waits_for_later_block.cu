// Each block waits for the one behind it in the grid.
extern "C" __global__ void kernel(const float* A, volatile int* ready, float* C) {
    if (threadIdx.x == 0) {
        if (blockIdx.x + 1 < gridDim.x) {
            while (ready[blockIdx.x + 1] == 0) {
            }
            __threadfence();
        }
        float after = blockIdx.x + 1 < gridDim.x ? ((volatile float*)C)[blockIdx.x + 1] : 0;
        ((volatile float*)C)[blockIdx.x] = A[blockIdx.x] + after;
        __threadfence();
        ready[blockIdx.x] = 1;
    }
}
