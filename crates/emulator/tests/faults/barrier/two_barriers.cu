// Each warp waits for the other, at different barriers.
extern "C" __global__ void kernel(float* C) {
    if (threadIdx.x < 32)
        asm volatile("bar.sync 1, 64;");
    else
        asm volatile("bar.sync 2, 64;");
    C[threadIdx.x] = 1;
}
