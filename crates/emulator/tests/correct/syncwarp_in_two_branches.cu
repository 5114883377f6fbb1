// Lanes meet at the same mask from two branches, and so do shuffles.
extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ float As[32];
    int i = threadIdx.x;
    float mine = A[i], other;
    if (i < 16) {
        As[i] = mine;
        __syncwarp();
        mine += As[31 - i];
        other = __shfl_xor_sync(0xffffffff, mine, 16);
    } else {
        As[i] = 2 * mine;
        __syncwarp();
        mine -= As[31 - i];
        other = __shfl_xor_sync(0xffffffff, mine, 16);
    }
    C[i] = other;
}
