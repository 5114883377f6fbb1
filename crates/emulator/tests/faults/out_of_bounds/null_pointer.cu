// The host passed a null pointer.
extern "C" __global__ void kernel(const float* A, float* C) {
    C[threadIdx.x] = A[threadIdx.x];
}
