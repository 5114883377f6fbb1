#include <cstdio>
__constant__ float scale;
__global__ void scaled_sum(const float* in, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = scale * in[i];
}
int main() {
    int n = 1000;
    const int threads = 128;
    scaled_sum<<<(n + threads - 1) / threads, threads>>>(nullptr, nullptr, n);
    printf("done\n");
}
