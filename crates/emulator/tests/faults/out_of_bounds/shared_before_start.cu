// Each thread reads its left neighbour's element; the first thread has none.
extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ float As[64];
    As[threadIdx.x] = A[threadIdx.x];
    __syncthreads();
    C[threadIdx.x] = As[(int)threadIdx.x - 1];
}
