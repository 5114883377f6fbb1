// Who has written arrives and goes on; only who reads waits.
extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ float As[64];
    if (threadIdx.x < 64) {
        As[threadIdx.x] = A[threadIdx.x];
        asm volatile("bar.arrive 1, 96;" ::: "memory");
    } else {
        asm volatile("bar.sync 1, 96;" ::: "memory");
        C[threadIdx.x - 64] = As[threadIdx.x - 64] + As[threadIdx.x - 32];
    }
}
