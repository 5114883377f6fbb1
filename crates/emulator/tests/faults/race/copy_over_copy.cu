// A thread copies one element, then another to the same place, and waits for both at the end. Which of the two
// copies lands last is not said.
extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ float row[32];
    int t = threadIdx.x;
    unsigned to = __cvta_generic_to_shared(&row[t]);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(&A[t]) : "memory");
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(&A[t + 32]) : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    C[t] = row[t];
}
