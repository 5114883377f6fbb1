// Barrier 1 is for the first two warps; the third reads what they wrote without taking part.
extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ float As[64];
    if (threadIdx.x < 64) {
        As[threadIdx.x] = A[threadIdx.x];
        asm volatile("bar.sync 1, 64;" ::: "memory");
    } else {
        C[threadIdx.x - 64] = As[threadIdx.x - 64];
    }
}
