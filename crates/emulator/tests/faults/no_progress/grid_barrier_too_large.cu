// All blocks of the grid meet, and the GPU does not hold so many at a time.
__device__ unsigned arrived;

extern "C" __global__ void kernel(float* C) {
    if (threadIdx.x == 0) {
        atomicAdd(&arrived, 1);
        while (*(volatile unsigned*)&arrived < gridDim.x) {
        }
    }
    __syncthreads();
    C[blockIdx.x] = 1;
}
