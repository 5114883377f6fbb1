// A copy, a wait, a barrier: then any thread may store where the copy has landed, and copy there again.
extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ float row[64];
    int t = threadIdx.x;
    unsigned to = __cvta_generic_to_shared(&row[t]);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(&A[t]) : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    row[t] += 1;  // its own copy: no barrier is needed
    __syncthreads();
    float other = row[63 - t];
    __syncthreads();  // everyone has read: the row may be overwritten
    row[63 - t] = 2 * other;
    __syncthreads();
    float doubled = row[t];
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(&A[63 - t]) : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    C[t] = doubled + row[t];
}
