// A fence orders a thread's own accesses; it does not wait for other threads.
extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ float As[64];
    As[threadIdx.x] = A[threadIdx.x];
    __threadfence_block();
    C[threadIdx.x] = As[63 - threadIdx.x];
}
