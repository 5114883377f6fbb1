// A copy of four bytes is told to read eight.
extern "C" __global__ void kernel(const float* A, float* C, int bytes) {
    __shared__ float As[32];
    unsigned to = (unsigned)__cvta_generic_to_shared(&As[threadIdx.x]);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(A + threadIdx.x), "r"(bytes) : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    C[threadIdx.x] = As[threadIdx.x];
}
