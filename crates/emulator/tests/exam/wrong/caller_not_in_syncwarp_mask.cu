// All lanes call __syncwarp with the mask of the lower half.
// exam: Barrier grid=1 block=32
// arg out=u32[32]:none
extern "C" __global__ void k(unsigned *out) {
    __shared__ unsigned a[32];
    unsigned t = threadIdx.x;
    a[t] = t;
    __syncwarp(0x0000ffffu);
    out[t] = a[t ^ 1];
}
