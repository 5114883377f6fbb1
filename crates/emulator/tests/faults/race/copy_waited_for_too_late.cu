// Two stages, and the wait of each stands before its commit, so that it waits for the copies of the stage before: the barrier
// comes too early.
extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ float row[2][64];
    int t = threadIdx.x;
    float sum = 0;
    for (int i = 0; i < 2; ++i) {
        unsigned to = __cvta_generic_to_shared(&row[i][t]);
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(&A[t]) : "memory");
        asm volatile("cp.async.wait_group 0;" ::: "memory");
        asm volatile("cp.async.commit_group;" ::: "memory");
        __syncthreads();
        sum += row[i][63 - t];
    }
    C[t] = sum;
}
