// Every block ends with copies under way that it needs no more; the next block stores to the same place, while a copy
// of its own is under way to another.
__device__ void copy(float* to, const float* from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from) : "memory");
}

extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ float row[64], other[64];
    int t = threadIdx.x;
    copy(&other[t], &A[t]);
    row[t] = A[t];
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();  // row and other are full
    C[blockIdx.x * 64 + t] = row[63 - t] + other[63 - t];
    __syncthreads();  // everyone has read the row: it may be overwritten
    copy(&row[t], &A[t]);
}
