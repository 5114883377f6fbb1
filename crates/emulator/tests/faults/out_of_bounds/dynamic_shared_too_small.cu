// The launch gives less dynamic shared memory than the kernel uses.
extern __shared__ float As[];

extern "C" __global__ void kernel(const float* A, float* C) {
    As[threadIdx.x] = A[threadIdx.x];
    __syncthreads();
    C[threadIdx.x] = As[63 - threadIdx.x];
}
