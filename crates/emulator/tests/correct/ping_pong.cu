// Two buffers by turns: one barrier per step orders both directions.
extern "C" __global__ void kernel(const float* A, float* C, int steps) {
    __shared__ float As[2][64];
    As[0][threadIdx.x] = A[threadIdx.x];
    int now = 0;
    for (int step = 0; step < steps; ++step, now ^= 1) {
        __syncthreads();
        As[now ^ 1][threadIdx.x] = As[now][(threadIdx.x + 1) % 64] + 1;
    }
    C[threadIdx.x] = As[now][threadIdx.x];
}
