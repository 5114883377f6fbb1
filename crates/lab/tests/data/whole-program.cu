// A program: host code, a check of every call, and a launch.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cublas_v2.h>
#include "own.cuh"

#define CHECK(call)                                                   \
    do {                                                              \
        const cudaError_t status = (call);                            \
        if (status != cudaSuccess) {                                  \
            std::fprintf(stderr, "%s\n", cudaGetErrorString(status)); \
            std::exit(1);                                             \
        }                                                             \
    } while (0)

static const int TILE = 16;

__global__ void product(const real* d_left, const real* d_right, real* d_result, int rows, int cols, int inner) {
    const uint row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    real best = -INFINITY, sum = 0;
    for (int i = 0; i < inner; ++i) {
        if (row < rows && col < cols) sum = fused(d_left[row * inner + i], d_right[i * cols + col], sum);
        best = max(best, sum);
    }
    if (row < rows && col < cols) d_result[row * cols + col] = sum;
}

struct Timer {
    std::vector<double> times;
    void stop() { times.push_back(0.0); }
};

static void run(const std::vector<real>& left, int m, int n, int k) {
    real *a, *b, *c;
    CHECK(cudaMalloc(&a, sizeof(real) * m * k));
    const dim3 block(TILE, TILE);
    const dim3 grid((n + block.x - 1) / block.x, (m + block.y - 1) / block.y);
    product<<<grid, block>>>(a, b, c, m, n, k);
    CHECK(cudaGetLastError());
}

int main() {
    std::puts(R"(a brace: { )");
    run({}, 200, 150, 400);
    return 0;
}
