// A padded row: float4 access to rows of 33 elements.
extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ __align__(16) float As[32][33];
    for (int k = 0; k < 32; ++k) As[k][threadIdx.x] = A[k * 32 + threadIdx.x];
    __syncthreads();
    float4 a = *(const float4*)&As[threadIdx.x][4];
    C[threadIdx.x] = a.x + a.y + a.z + a.w;
}
