// Blocks add by atomics; each block then reads the sum by a plain load, while others may still add.
// exam: Race grid=8 block=32
// arg sum=u32[1]:zero out=u32[8]:none
extern "C" __global__ void k(unsigned *sum, unsigned *out) {
    if (threadIdx.x) return;
    atomicAdd(sum, blockIdx.x);
    out[blockIdx.x] = *sum;
}
