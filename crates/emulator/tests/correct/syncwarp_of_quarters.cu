// Eight lanes each exchange values behind a barrier of their own.
extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ float As[32];
    int lane = threadIdx.x;
    As[lane] = A[lane];
    __syncwarp(0xffu << (lane & 24));
    C[lane] = As[lane ^ 7];
}
