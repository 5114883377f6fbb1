// Flags of which most were never set decide whether to write.
extern "C" __global__ void kernel(int* C) {
    __shared__ int flags[32];
    if (threadIdx.x < 8) flags[threadIdx.x] = threadIdx.x;
    __syncthreads();
    if (flags[threadIdx.x] > 3) C[threadIdx.x] = 1;
}
