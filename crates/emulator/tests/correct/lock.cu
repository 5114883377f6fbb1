// Blocks take turns by a lock; one thread of each holds it.
extern "C" __global__ void kernel(int* lock, const float* A, float* C) {
    if (threadIdx.x == 0) {
        while (atomicCAS(lock, 0, 1) != 0) {
        }
        __threadfence();
        *(volatile float*)C += A[blockIdx.x];
        __threadfence();
        atomicExch(lock, 0);
    }
}
