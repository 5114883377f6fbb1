// Two warps count in a volatile place: each reads, adds, and writes, and a count is lost.
extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ volatile int count;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    if (threadIdx.x % 32 == 0) count = count + 1;
    __syncthreads();
    C[threadIdx.x] = count;
}
