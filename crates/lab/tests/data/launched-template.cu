#include "template.cu"

#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))

template <int TILE, typename T>
void launch(T* a, T* b, T* c, int m, int n, int k, cudaStream_t stream) {
    dim3 grid(CEIL_DIV(n, TILE), CEIL_DIV(m, TILE)), block(TILE, TILE);
    tiled<TILE><<<grid, block, 0, stream>>>(a, b, c, m, n, k);
}

void both(double* a, double* b, double* c, int size) {
    constexpr int side = 2 << 2;
    launch<side, double>(a, b, c, size, size, size, 0);
}

__global__ void clear(float* out, int n) {
    if (threadIdx.x < n) out[threadIdx.x] = 0.0f;
}
