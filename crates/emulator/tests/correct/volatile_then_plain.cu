// Written through a volatile pointer, read through a plain one after a barrier.
extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ float As[64];
    volatile float* writer = As;
    writer[threadIdx.x] = A[threadIdx.x];
    __syncthreads();
    C[threadIdx.x] = As[63 - threadIdx.x] + 1;
}
