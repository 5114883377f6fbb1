// Two threads store at one place. A third has met the second one, and not the first.
extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ float value;
    if (threadIdx.x == 0) *(volatile float*)&value = A[0];
    if (threadIdx.x == 32) *(volatile float*)&value = A[1];
    if (threadIdx.x >= 32) {
        __syncwarp();
        C[threadIdx.x] = value;
    }
}
