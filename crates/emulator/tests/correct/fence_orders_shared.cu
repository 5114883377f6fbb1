// A flag in global memory orders accesses to shared memory: fences know no kinds of memory.
__device__ volatile int ready;

extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ float As[32];
    int lane = threadIdx.x % 32;
    if (threadIdx.x >= 32) {
        As[lane] = A[lane];
        __syncwarp();
        if (lane == 0) {
            __threadfence_block();
            ready = 1;
        }
    } else {
        if (lane == 0) {
            while (ready == 0) {
            }
            __threadfence_block();
        }
        __syncwarp();
        C[lane] = As[31 - lane];
    }
}
