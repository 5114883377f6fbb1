// One thread fills, a barrier, all read; then the next round overwrites behind a second barrier.
extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ float factor;
    float value = A[threadIdx.x];
    for (int round = 0; round < 3; ++round) {
        if (threadIdx.x == 0) factor = A[round];
        __syncthreads();
        value *= factor;
        __syncthreads();
    }
    C[threadIdx.x] = value;
}
