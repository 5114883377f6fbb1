// A thread begins a copy to its place in shared memory, and stores there without waiting for it. The copy may land
// after the store.
extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ float row[64];
    int t = threadIdx.x;
    unsigned to = __cvta_generic_to_shared(&row[t]);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(&A[t]) : "memory");
    if (t == 40) row[t] = 0;  // too early
    asm volatile("cp.async.wait_all;" ::: "memory");
    C[t] = row[t];
}
