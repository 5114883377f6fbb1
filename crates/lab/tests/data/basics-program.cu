// The basics of CUDA, put into a program: one thread for one element, each matrix a structure. Right.
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

struct Matrix {
    float* elements;
    int M, K;
};

__global__ void mmKnlL0(const Matrix A, const Matrix B, Matrix C) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= A.M || col >= B.K) return;
    float Cvalue = 0;
    for (int k = 0; k < A.K; ++k) Cvalue += A.elements[row * A.K + k] * B.elements[k * B.K + col];
    C.elements[row * C.K + col] = Cvalue;
}

int main() {
    const int m = 100, n = 70, k = 50;
    Matrix A{nullptr, m, k}, B{nullptr, k, n}, C{nullptr, m, n};
    cudaMalloc(&A.elements, m * k * sizeof(float));
    cudaMalloc(&B.elements, k * n * sizeof(float));
    cudaMalloc(&C.elements, m * n * sizeof(float));
    dim3 block(32, 32), grid((n + 31) / 32, (m + 31) / 32);
    mmKnlL0<<<grid, block>>>(A, B, C);
    std::vector<float> c(m * n);
    cudaMemcpy(c.data(), C.elements, c.size() * sizeof(float), cudaMemcpyDeviceToHost);
    std::printf("%f\n", c[0]);
}
