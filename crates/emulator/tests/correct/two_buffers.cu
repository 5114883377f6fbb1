// One warp fills two buffers in turn, the other empties them: four barriers say which is full, and which is empty.
extern "C" __global__ void kernel(const float* A, float* C, int rounds) {
    __shared__ float buffer[2][32];
    int lane = threadIdx.x % 32;
    if (threadIdx.x < 32) {
        for (int round = 0; round < rounds; ++round) {
            if (round >= 2) asm volatile("bar.sync %0, 64;" ::"r"(3 + round % 2) : "memory");
            buffer[round % 2][lane] = A[lane] + round;
            asm volatile("bar.arrive %0, 64;" ::"r"(1 + round % 2) : "memory");
        }
    } else {
        float sum = 0;
        for (int round = 0; round < rounds; ++round) {
            asm volatile("bar.sync %0, 64;" ::"r"(1 + round % 2) : "memory");
            sum += buffer[round % 2][31 - lane];
            if (round + 2 < rounds) asm volatile("bar.arrive %0, 64;" ::"r"(3 + round % 2) : "memory");
        }
        C[lane] = sum;
    }
}
