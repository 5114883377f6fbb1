// A prefix sum in shared memory: read, barrier, write, barrier.
extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ float As[64];
    int i = threadIdx.x;
    As[i] = A[i];
    __syncthreads();
    for (int by = 1; by < 64; by *= 2) {
        float left = i >= by ? As[i - by] : 0;
        __syncthreads();
        As[i] += left;
        __syncthreads();
    }
    C[i] = As[i];
}
