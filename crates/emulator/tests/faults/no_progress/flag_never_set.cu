// Waits for a flag that no thread sets.
extern "C" __global__ void kernel(volatile int* flag, float* C) {
    while (*flag == 0) {
    }
    C[threadIdx.x] = 1;
}
