// Two warps name the same barrier, and not the same number of threads.
extern "C" __global__ void kernel(float* C) {
    if (threadIdx.x < 32)
        asm volatile("bar.sync 1, 64;" ::: "memory");
    else
        asm volatile("bar.sync 1, 96;" ::: "memory");
    C[threadIdx.x] = 1;
}
