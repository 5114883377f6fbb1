// The source of a copy is overwritten, after the copy's thread waited, and a barrier.
extern "C" __global__ void kernel(float* A, float* C) {
    __shared__ __align__(16) float As[64];
    unsigned to = (unsigned)__cvta_generic_to_shared(&As[threadIdx.x]);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(A + threadIdx.x) : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    A[63 - threadIdx.x] = 0;
    C[threadIdx.x] = As[63 - threadIdx.x];
}
