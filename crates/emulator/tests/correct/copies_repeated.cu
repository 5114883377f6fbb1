// A warp copies a row of eight elements by `cp.async`: lanes that have none left repeat its last one, as CUDA's own `memcpy_async` does.

__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ float rows[8][8];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, column = min(lane, 7);
    for (int row = warp; row < 8; row += blockDim.x / 32) {
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at(&rows[row][column])), "l"(A + row * 8 + column)
                     : "memory");
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    C[threadIdx.x] = rows[threadIdx.x / 8][threadIdx.x % 8];
}
