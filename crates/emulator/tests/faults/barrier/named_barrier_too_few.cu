// Barrier 1 waits for 96 threads, and the block has 64.
extern "C" __global__ void kernel(float* C) {
    asm volatile("bar.sync 1, 96;");
    C[threadIdx.x] = 1;
}
