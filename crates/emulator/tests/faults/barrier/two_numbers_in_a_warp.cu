// The two sides of a branch wait for each other at different barriers.
extern "C" __global__ void kernel(float* C) {
    if (threadIdx.x < 16)
        asm volatile("barrier.sync 1;" ::: "memory");
    else
        asm volatile("barrier.sync 2;" ::: "memory");
    C[threadIdx.x] = 1;
}
