// An index from the host reaches beyond a thread's own array.
extern "C" __global__ void kernel(const float* A, float* C, int n) {
    float own[8];
    for (int i = 0; i < n; ++i) own[i] = A[i * 32 + threadIdx.x];
    C[threadIdx.x] = own[(n + threadIdx.x) % 8];
}
