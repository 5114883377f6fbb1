// A report's first kernel, as it stands in the program that was handed in: the guard lets one row and one column too many through.
#include <cstdlib>
#include <iostream>
#include <cuda_runtime.h>

#define M 512
#define N 256
#define K 512
#define BLOCK_SIZE 16

// On the host, to compare with.
void matrixMulCPU(double *C, double *A, double *B, int m, int n, int k) {
    for (int i = 0; i < m; i++)
        for (int j = 0; j < k; j++) {
            double value = 0.0;
            for (int l = 0; l < n; l++) value += A[i * n + l] * B[l * k + j];
            C[i * k + j] = value;
        }
}

__global__ void matrixMulCUDA(double *C, double *A, double *B, int m, int n, int k) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row <= m && col <= k) {
        double value = 0.0;
        for (int i = 0; i < n; ++i) value += A[row * n + i] * B[i * k + col];
        C[row * k + col] = value;
    }
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
    matrixMulCUDA<<<dimGrid, dimBlock>>>(d_C, d_A, d_B, M, N, K);
    cudaEventRecord(stop, 0);
    cudaEventSynchronize(stop);
    cudaEventElapsedTime(&elapsedTime, start, stop);
    std::cout << "Time for matrixMulCUDA: " << elapsedTime << "ms" << std::endl;
    cudaMemcpy(C, d_C, M * K * sizeof(double), cudaMemcpyDeviceToHost);
    matrixMulCPU(C, A, B, M, N, K);
    return 0;
}
