// Two arrays carved out of dynamic shared memory.
extern __shared__ float memory[];

extern "C" __global__ void kernel(const float* A, float* C, int n) {
    float* As = memory;
    float* Bs = memory + n;
    As[threadIdx.x] = A[threadIdx.x];
    Bs[n - 1 - threadIdx.x] = A[threadIdx.x];
    __syncthreads();
    C[threadIdx.x] = As[n - 1 - threadIdx.x] * Bs[threadIdx.x];
}
