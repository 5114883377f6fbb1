// The lower half votes by the mask of itself, the upper half by the mask of all.
extern "C" __global__ void kernel(float* C) {
    unsigned mask = threadIdx.x < 16 ? 0x0000ffff : 0xffffffff;
    C[threadIdx.x] = __popc(__ballot_sync(mask, threadIdx.x % 2));
}
