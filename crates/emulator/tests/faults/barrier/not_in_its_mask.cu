// Every lane shuffles, and the mask names only half of them.
extern "C" __global__ void kernel(const float* A, float* C) {
    C[threadIdx.x] = __shfl_xor_sync(0x0000ffff, A[threadIdx.x], 1);
}
