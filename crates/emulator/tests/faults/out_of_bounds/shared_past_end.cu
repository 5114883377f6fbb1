// Each thread reads its right neighbour's element; the last thread has none.
extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ float As[64];
    As[threadIdx.x] = A[threadIdx.x];
    __syncthreads();
    C[threadIdx.x] = As[threadIdx.x + 1];
}
