// Every thread copies an element, and reads another thread's behind a barrier, but nobody waits for the copies first.
extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ float row[32];
    int t = threadIdx.x;
    unsigned to = __cvta_generic_to_shared(&row[t]);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(&A[t]) : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
    __syncthreads();
    float twice = 2 * row[31 - t];
    asm volatile("cp.async.wait_all;" ::: "memory");  // too late
    C[t] = twice;
}
