// Notes on tiles, put into a program: one block, A of 3 x 9 and B of 9 x 3 in parts of 3 x 3. Nothing holds a thread back at the end of
// a step, and the part of B is looked for where it is by luck.
#include <cstdio>
#include <cuda_runtime.h>

typedef struct {
    int width;
    int height;
    int stride;
    float* elements;
} Matrix;

__global__ void MatMulKernel(Matrix A, Matrix B, Matrix C) {
    const int SubMatrixSize = 3;
    float Cvalue = 0;
    int row = threadIdx.y;
    int col = threadIdx.x;
    __shared__ float As[SubMatrixSize][SubMatrixSize];
    __shared__ float Bs[SubMatrixSize][SubMatrixSize];
    for (int i = 0; i < A.width / SubMatrixSize; ++i) {
        As[row][col] = A.elements[row * A.width + i * SubMatrixSize + col];
        Bs[row][col] = B.elements[i * B.width * B.width + row * B.width + col];
        __syncthreads();
        for (int e = 0; e < SubMatrixSize; ++e) Cvalue += As[row][e] * Bs[e][col];
    }
    C.elements[row * C.width + col] = Cvalue;
}

static Matrix on_device(const Matrix& from) {
    Matrix to = from;
    cudaMalloc(&to.elements, from.width * from.height * sizeof(float));
    cudaMemcpy(to.elements, from.elements, from.width * from.height * sizeof(float), cudaMemcpyHostToDevice);
    return to;
}

int main() {
    float a[27], b[27], c[9];
    for (int i = 0; i < 27; ++i) a[i] = b[i] = i;
    Matrix d_A = on_device({9, 3, 9, a}), d_B = on_device({3, 9, 3, b}), d_C = on_device({3, 3, 3, c});
    dim3 dimBlock(3, 3);
    MatMulKernel<<<1, dimBlock>>>(d_A, d_B, d_C);
    cudaMemcpy(c, d_C.elements, sizeof c, cudaMemcpyDeviceToHost);
    std::printf("%f\n", c[0]);
    return 0;
}
