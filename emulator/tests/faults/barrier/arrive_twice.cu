// The producer arrives twice before the consumer has come: the barrier counts both.
extern "C" __global__ void kernel(float* C) {
    if (threadIdx.x < 32) {
        asm volatile("bar.arrive 1, 64;" ::: "memory");
        asm volatile("bar.arrive 1, 64;" ::: "memory");
    } else {
        asm volatile("bar.sync 1, 64;" ::: "memory");
    }
    C[threadIdx.x] = 1;
}
