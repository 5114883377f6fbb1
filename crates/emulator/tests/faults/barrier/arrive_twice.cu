// The producer arrives twice: the barrier is for three warps, and does not count one of them for two.
extern "C" __global__ void kernel(float* C) {
    if (threadIdx.x < 32) {
        asm volatile("bar.arrive 1, 96;" ::: "memory");
        asm volatile("bar.arrive 1, 96;" ::: "memory");
    } else {
        asm volatile("bar.sync 1, 96;" ::: "memory");
    }
    C[threadIdx.x] = 1;
}
