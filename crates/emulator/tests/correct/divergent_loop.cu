// Every lane leaves the loop at another time; all meet again at the barrier.
extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ float As[64];
    float sum = 0;
    for (int i = 0; i <= threadIdx.x; ++i) sum += A[i];
    As[threadIdx.x] = sum;
    __syncthreads();
    C[threadIdx.x] = As[63 - threadIdx.x];
}
