// Every thread copies an element. After a barrier, thread 0 sets the last one to zero; but the barrier stands before
// the wait, and makes nobody wait for the other threads' copies.
extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ float row[64];
    int t = threadIdx.x;
    unsigned to = __cvta_generic_to_shared(&row[t]);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(&A[t]) : "memory");
    __syncthreads();  // too early
    if (t == 0) row[63] = 0;
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    C[t] = row[63 - t];
}
