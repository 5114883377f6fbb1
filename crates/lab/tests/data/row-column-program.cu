// The same report's kernel with "the whole row and column" in shared memory: the rows of a block write the same elements.
#include <cstdlib>
#include <iostream>
#include <cuda_runtime.h>

#define M 512
#define N 256
#define K 512
#define BLOCK_SIZE 16

__global__ void matrixMulRowColumn(double *C, double *A, double *B, int m, int n, int k) {
    __shared__ double shared_A[BLOCK_SIZE];
    __shared__ double shared_B[BLOCK_SIZE];
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    double value = 0;
    for (int i = 0; i < (n + BLOCK_SIZE - 1) / BLOCK_SIZE; ++i) {
        if (row < m && i * BLOCK_SIZE + threadIdx.x < n) {
            shared_A[threadIdx.x] = A[row * n + i * BLOCK_SIZE + threadIdx.x];
        } else {
            shared_A[threadIdx.x] = 0.0;
        }
        if (col < k && i * BLOCK_SIZE + threadIdx.y < n) {
            shared_B[threadIdx.y] = B[(i * BLOCK_SIZE + threadIdx.y) * k + col];
        } else {
            shared_B[threadIdx.y] = 0.0;
        }
        __syncthreads();
        for (int j = 0; j < BLOCK_SIZE; ++j) value += shared_A[j] * shared_B[j];
        __syncthreads();
    }
    if (row < m && col < k) C[row * k + col] = value;
}

int main() {
    double *A = new double[M * N], *B = new double[N * K], *C = new double[M * K];
    for (int i = 0; i < M * N; ++i) A[i] = rand() / (double)RAND_MAX;
    for (int i = 0; i < N * K; ++i) B[i] = rand() / (double)RAND_MAX;
    double *d_A, *d_B, *d_C;
    cudaMalloc((void **)&d_A, M * N * sizeof(double));
    cudaMalloc((void **)&d_B, N * K * sizeof(double));
    cudaMalloc((void **)&d_C, M * K * sizeof(double));
    cudaMemcpy(d_A, A, M * N * sizeof(double), cudaMemcpyHostToDevice);
    cudaMemcpy(d_B, B, N * K * sizeof(double), cudaMemcpyHostToDevice);
    dim3 dimBlock(BLOCK_SIZE, BLOCK_SIZE);
    dim3 dimGrid((K + BLOCK_SIZE - 1) / BLOCK_SIZE, (M + BLOCK_SIZE - 1) / BLOCK_SIZE);
    cudaEvent_t start, stop;
    float elapsedTime;
    cudaEventCreate(&start);
    cudaEventCreate(&stop);
    cudaEventRecord(start, 0);
    matrixMulRowColumn<<<dimGrid, dimBlock>>>(d_C, d_A, d_B, M, N, K);
    cudaEventRecord(stop, 0);
    cudaEventSynchronize(stop);
    cudaEventElapsedTime(&elapsedTime, start, stop);
    std::cout << "Time for matrixMulRowColumn: " << elapsedTime << "ms" << std::endl;
    cudaMemcpy(C, d_C, M * K * sizeof(double), cudaMemcpyDeviceToHost);
    return 0;
}
