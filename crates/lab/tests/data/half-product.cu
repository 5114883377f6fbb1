// Needs CUDA's header of halves, and no flag.
#include <cuda_fp16.h>
#include <cuda_runtime.h>
__global__ void half_product(const __half* a, const __half* b, __half* c, int m, int n, int k) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < m && col < n) {
        float sum = 0.0f;
        for (int i = 0; i < k; ++i) sum += __half2float(a[row * k + i]) * __half2float(b[i * n + col]);
        c[row * n + col] = __float2half(sum);
    }
}
