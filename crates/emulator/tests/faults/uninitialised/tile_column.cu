// The tile has a column that no thread fills: the loads stop one short.
extern "C" __global__ void kernel(const float* A, const float* B, float* C) {
    __shared__ float As[8][8];
    __shared__ float Bs[8][8];
    int ty = threadIdx.y, tx = threadIdx.x;
    if (tx < 7) As[ty][tx] = A[ty * 8 + tx];
    Bs[ty][tx] = B[ty * 8 + tx];
    __syncthreads();
    float acc = 0;
    for (int k = 0; k < 8; ++k) acc += As[ty][k] * Bs[k][tx];
    C[ty * 8 + tx] = acc;
}
