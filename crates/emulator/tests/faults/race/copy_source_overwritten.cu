// The source of a copy is overwritten by the copy's own thread, which has not waited for it.
extern "C" __global__ void kernel(float* A, float* C) {
    __shared__ __align__(16) float As[64];
    unsigned to = (unsigned)__cvta_generic_to_shared(&As[threadIdx.x]);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(A + threadIdx.x) : "memory");
    A[threadIdx.x] = 0;
    asm volatile("cp.async.wait_all;" ::: "memory");
    C[threadIdx.x] = As[threadIdx.x];
}
