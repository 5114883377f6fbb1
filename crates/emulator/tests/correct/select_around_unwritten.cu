// A load may be hoisted above its condition: what is not chosen may be unwritten.
extern "C" __global__ void kernel(const float* A, float* C, int n) {
    __shared__ float As[64];
    if (threadIdx.x < n) As[threadIdx.x] = A[threadIdx.x];
    __syncthreads();
    float a = As[threadIdx.x];
    C[threadIdx.x] = threadIdx.x < n ? a : 0;
}
