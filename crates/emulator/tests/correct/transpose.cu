// Transposes through a padded tile; nobody ever writes or reads the padding.
extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ float tile[32][33];
    for (int y = threadIdx.y; y < 32; y += blockDim.y) tile[y][threadIdx.x] = A[y * 32 + threadIdx.x];
    __syncthreads();
    for (int y = threadIdx.y; y < 32; y += blockDim.y) C[y * 32 + threadIdx.x] = tile[threadIdx.x][y];
}
