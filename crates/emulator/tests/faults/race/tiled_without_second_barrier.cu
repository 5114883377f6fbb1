// A tiled product whose next tile may overwrite the one that others still read.
extern "C" __global__ void kernel(const float* A, const float* B, float* C, int N) {
    __shared__ float As[8][8];
    __shared__ float Bs[8][8];
    int ty = threadIdx.y, tx = threadIdx.x;
    float acc = 0;
    for (int k0 = 0; k0 < N; k0 += 8) {
        As[ty][tx] = A[ty * N + k0 + tx];
        Bs[ty][tx] = B[(k0 + ty) * 8 + tx];
        __syncthreads();
        for (int k = 0; k < 8; ++k) acc += As[ty][k] * Bs[k][tx];
    }
    C[ty * 8 + tx] = acc;
}
