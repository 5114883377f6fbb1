// There is no barrier 16.
extern "C" __global__ void kernel(float* C, int number) {
    asm volatile("bar.sync %0;" ::"r"(number) : "memory");
    C[threadIdx.x] = 1;
}
