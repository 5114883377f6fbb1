// Two lanes write different values to one element of C.
extern "C" __global__ void kernel(const float* A, float* C) {
    C[threadIdx.x / 2] = A[threadIdx.x];
}
