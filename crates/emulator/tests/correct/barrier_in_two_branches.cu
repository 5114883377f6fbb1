// Both sides of a branch come to the same barrier, each at its own instruction, as one that is not aligned allows.
extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ float As[64];
    int i = threadIdx.x;
    if (i % 2 == 0) {
        As[i] = A[i];
        asm volatile("barrier.sync 0;" ::: "memory");
        C[i] = As[63 - i];
    } else {
        As[i] = 2 * A[i];
        asm volatile("barrier.sync 0;" ::: "memory");
        C[i] = As[63 - i] + 1;
    }
}
