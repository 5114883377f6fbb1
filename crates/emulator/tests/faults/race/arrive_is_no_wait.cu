// Both warps write and read the other's part; one of them only arrives at the barrier, and does not wait.
extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ float As[64];
    As[threadIdx.x] = A[threadIdx.x];
    if (threadIdx.x < 32)
        asm volatile("bar.sync 1, 64;" ::: "memory");
    else
        asm volatile("bar.arrive 1, 64;" ::: "memory");
    C[threadIdx.x] = As[63 - threadIdx.x];
}
