// A copy of eight of sixteen bytes reads what another warp writes meanwhile.
extern "C" __global__ void kernel(float* A, float* C) {
    __shared__ __align__(16) float As[4];
    if (threadIdx.x == 32) A[1] = 7;
    if (threadIdx.x == 0) {
        unsigned to = (unsigned)__cvta_generic_to_shared(As);
        asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(A), "r"(8) : "memory");
        asm volatile("cp.async.wait_all;" ::: "memory");
        C[0] = As[1];
    }
}
