// One thread never leaves its loop, and the loop reads nothing.
extern "C" __global__ void kernel(volatile float* C) {
    if (threadIdx.x == 40) {
        while (true) {
        }
    }
    C[threadIdx.x] = 1;
}
