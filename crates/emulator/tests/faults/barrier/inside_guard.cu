// The first barrier stands inside the guard of the edge: 20 of the 32 lanes reach it.
extern "C" __global__ void kernel(const float* A, const float* B, float* C, int n) {
    __shared__ float As[8][8];
    __shared__ float Bs[8][8];
    int ty = threadIdx.y, tx = threadIdx.x;
    float acc = 0;
    for (int k0 = 0; k0 < 16; k0 += 8) {
        if (tx < n) {
            As[ty][tx] = A[ty * 16 + k0 + tx];
            Bs[ty][tx] = B[(k0 + ty) * 8 + tx];
            __syncthreads();
        }
        for (int k = 0; k < n; ++k) acc += As[ty][k] * Bs[k][tx];
        __syncthreads();
    }
    C[ty * 8 + tx] = acc;
}
