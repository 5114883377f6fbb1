// A table of indices of which one was never filled in.
extern "C" __global__ void kernel(const int* A, int* C) {
    __shared__ int index[32];
    if (threadIdx.x != 7) index[threadIdx.x] = 31 - threadIdx.x;
    __syncthreads();
    C[threadIdx.x] = A[index[threadIdx.x]];
}
