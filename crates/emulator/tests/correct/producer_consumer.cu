// A warp fills a buffer and goes on; the other waits until it is full. Two barriers, each for both warps.
extern "C" __global__ void kernel(const float* A, float* C, int rounds) {
    __shared__ float As[32];
    int lane = threadIdx.x % 32;
    if (threadIdx.x < 32) {
        for (int i = 0; i < rounds; ++i) {
            asm volatile("bar.sync 1, 64;" ::: "memory");
            As[lane] = A[i * 32 + lane];
            asm volatile("bar.arrive 2, 64;" ::: "memory");
        }
    } else {
        float sum = 0;
        for (int i = 0; i < rounds; ++i) {
            asm volatile("bar.arrive 1, 64;" ::: "memory");
            asm volatile("bar.sync 2, 64;" ::: "memory");
            sum += As[31 - lane];
        }
        C[lane] = sum;
    }
}
