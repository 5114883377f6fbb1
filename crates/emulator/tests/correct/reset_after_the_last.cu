// No fence: nothing but the counter is shared, and who saw all others' counts may set it back plainly.
__device__ int arrived;

extern "C" __global__ void kernel(const float* A, float* C) {
    if (threadIdx.x != 0) return;
    if (atomicAdd(&arrived, 1) == gridDim.x - 1) {
        arrived = 0;
        *C = A[7];
    }
}
