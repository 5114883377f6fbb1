// A pipeline of three buffers: in every step the block waits for the oldest copy, reads it, and begins a copy to the
// buffer that it read in the step before. The last groups are empty.
constexpr int STAGES = 3;

extern "C" __global__ void kernel(const float* A, float* C, int steps) {
    __shared__ float stages[STAGES][64];
    int t = threadIdx.x;
    auto load = [&](int step) {
        unsigned to = __cvta_generic_to_shared(&stages[step % STAGES][t]);
        if (step < steps) asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(&A[step * 64 + t]) : "memory");
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
    for (int step = 0; step < STAGES - 1; ++step) load(step);
    float sum = 0;
    for (int step = 0; step < steps; ++step) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
        __syncthreads();  // the copy of this step has landed; everyone has read the buffer of the step before
        load(step + STAGES - 1);
        sum += stages[step % STAGES][63 - t];
    }
    __syncthreads();  // everyone has read the last stage: it may be overwritten
    stages[0][t] = sum;
    __syncthreads();
    C[t] = stages[0][63 - t];
}
