// A warp-level exchange, then a block-wide one, over the same words.
extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ float As[64];
    As[threadIdx.x] = A[threadIdx.x];
    __syncwarp();
    float neighbour = As[threadIdx.x ^ 1];
    __syncthreads();
    As[threadIdx.x] = neighbour;
    __syncthreads();
    C[threadIdx.x] = As[63 - threadIdx.x];
}
