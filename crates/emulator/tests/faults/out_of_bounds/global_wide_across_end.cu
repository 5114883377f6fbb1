// A vector load that starts inside the buffer and ends beyond it.
extern "C" __global__ void kernel(const float4* A, float* C) {
    float4 a = A[threadIdx.x];
    C[threadIdx.x] = a.x + a.y + a.z + a.w;
}
