// One shuffle, two masks: each half of the warp adds up by itself.
extern "C" __global__ void kernel(const float* A, float* C) {
    int i = threadIdx.x;
    unsigned mask = i < 16 ? 0xffff : 0xffff0000;
    float sum = A[i];
    for (int by = 8; by > 0; by /= 2) sum += __shfl_xor_sync(mask, sum, by);
    C[i] = sum;
}
