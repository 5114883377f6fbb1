// A lock around a plain sum: the fences behind taking and before giving back order the blocks.
__device__ int lock;

extern "C" __global__ void kernel(const float* A, float* C) {
    if (threadIdx.x == 0) {
        while (atomicCAS(&lock, 0, 1) != 0) {
        }
        __threadfence();
        *C += A[blockIdx.x];
        __threadfence();
        atomicExch(&lock, 0);
    }
}
