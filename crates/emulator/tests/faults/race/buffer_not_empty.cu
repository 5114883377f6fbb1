// A producer fills a buffer and never asks whether the consumer has emptied it.
extern "C" __global__ void kernel(const float* A, float* C, int rounds) {
    __shared__ float buffer[32];
    int lane = threadIdx.x % 32;
    float sum = 0;
    for (int round = 0; round < rounds; ++round) {
        if (threadIdx.x < 32) buffer[lane] = A[lane] + round;
        asm volatile("bar.sync 1, 64;" ::: "memory");
        if (threadIdx.x >= 32) sum += buffer[31 - lane];
    }
    C[threadIdx.x] = sum;
}
