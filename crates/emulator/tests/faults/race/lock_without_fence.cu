// A lock around a plain sum, without fences: the lock's atomics order nothing but the lock.
__device__ int lock;

extern "C" __global__ void kernel(const float* A, float* C) {
    if (threadIdx.x == 0) {
        while (atomicCAS(&lock, 0, 1) != 0) {
        }
        *C += A[blockIdx.x];
        atomicExch(&lock, 0);
    }
}
