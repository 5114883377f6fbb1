// Every thread waits for its copy, and then writes to the element of its neighbour, whose copy may still be under
// way: a wait without a barrier speaks of a thread's own copies only.
extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ float row[64];
    int t = threadIdx.x;
    unsigned to = __cvta_generic_to_shared(&row[t]);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(&A[t]) : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    row[(t + 1) % 64] = -1;  // no barrier before
    __syncthreads();
    C[t] = row[t];
}
