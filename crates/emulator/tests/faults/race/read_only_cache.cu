// Written and read in one launch, with a barrier between; but the read goes through the cache for what is never written.
extern "C" __global__ void kernel(const float* A, float* C) {
    C[threadIdx.x] = A[threadIdx.x];
    __syncthreads();
    float other = __ldg(&C[63 - threadIdx.x]);
    __syncthreads();
    C[threadIdx.x] = other;
}
