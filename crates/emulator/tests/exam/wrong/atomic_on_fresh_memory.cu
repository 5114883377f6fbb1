// Counts in a buffer that nobody cleared.
// exam: Uninitialised grid=2 block=32
// arg bins=u32[4]:none out=u32[64]:none
extern "C" __global__ void k(unsigned *bins, unsigned *out) {
    out[blockIdx.x * 32 + threadIdx.x] = atomicAdd(&bins[threadIdx.x % 4], 1);
}
