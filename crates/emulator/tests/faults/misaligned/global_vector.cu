// A float4 load from an address that is a multiple of 4 only.
extern "C" __global__ void kernel(const float* A, float* C, int offset) {
    float4 a = *(const float4*)(A + offset + 4 * threadIdx.x);
    C[threadIdx.x] = a.x + a.y + a.z + a.w;
}
