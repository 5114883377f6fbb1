// Two blocks hand a number to and fro.
extern "C" __global__ void kernel(volatile int* box, float* C, int rounds) {
    if (threadIdx.x == 0) {
        for (int i = 0; i < rounds; ++i) {
            while (box[0] != 2 * i + (int)blockIdx.x) {
            }
            __threadfence();
            box[0] = 2 * i + blockIdx.x + 1;
        }
        C[blockIdx.x] = rounds;
    }
}
