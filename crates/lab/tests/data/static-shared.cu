__global__ void large(const float* A, const float* B, float* C, int N) {
    __shared__ float rows[64][128], columns[128][64];
    rows[threadIdx.y][threadIdx.x] = A[threadIdx.x];
    columns[threadIdx.x][threadIdx.y] = B[threadIdx.x];
    __syncthreads();
    C[threadIdx.x] = rows[0][threadIdx.x] + columns[threadIdx.x][0] + N;
}
