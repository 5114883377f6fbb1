// Block 0 resets the counter by a plain store, and the others add to it in the same launch.
// exam: Race grid=8 block=32
// arg sum=u32[1]:zero
extern "C" __global__ void k(unsigned *sum) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) *sum = 0;
    else atomicAdd(sum, blockIdx.x);
}
