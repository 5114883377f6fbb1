// A value and the sign that it is there, in one word: who sees the one has the other, and no fence is asked for.
__device__ volatile unsigned long long word;

extern "C" __global__ void kernel(const float* A, float* C) {
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        word = 1ull << 32 | __float_as_uint(A[3]);
    } else {
        unsigned long long seen = 0;
        while (seen >> 32 == 0) seen = word;
        *C = __uint_as_float((unsigned)seen);
    }
}
