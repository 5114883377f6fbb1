// Keeps the numbers that are even, each at the next free place. Right, and the places depend on the order of thread blocks.
//
// lab sanitize: --grid 4 --block 64 --arg in:i32[256]=range --arg kept:i32[128] --arg count:i32[1]=0 --expect count=128

extern "C" __global__ void keep_even(const int* in, int* kept, int* count) {
    int value = in[blockIdx.x * blockDim.x + threadIdx.x];
    if (value % 2 == 0) kept[atomicAdd(count, 1)] = value;
}
