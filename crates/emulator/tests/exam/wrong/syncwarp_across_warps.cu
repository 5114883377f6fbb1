// Two warps exchange by shared memory, and each only calls __syncwarp.
// exam: Race grid=1 block=64
// arg out=u32[64]:none
extern "C" __global__ void k(unsigned *out) {
    __shared__ unsigned a[64];
    unsigned t = threadIdx.x;
    a[t] = t;
    __syncwarp();
    out[t] = a[63 - t];
}
