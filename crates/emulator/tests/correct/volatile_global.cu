// Written through a volatile pointer to memory that the host did not fill.
extern "C" __global__ void kernel(const float* A, float* C) {
    volatile float* writer = C;
    writer[threadIdx.x] = A[threadIdx.x];
    C[threadIdx.x] += 1;
}
