// Two pairs of warps, each with a barrier of its own.
extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ float As[128];
    int pair = threadIdx.x / 64;
    for (int round = 0; round <= pair; ++round) {
        As[threadIdx.x] = A[threadIdx.x] + round;
        asm volatile("bar.sync %0, 64;" ::"r"(pair + 1) : "memory");
        C[threadIdx.x] = As[threadIdx.x ^ 63];
        asm volatile("bar.sync %0, 64;" ::"r"(pair + 1) : "memory");
    }
}
