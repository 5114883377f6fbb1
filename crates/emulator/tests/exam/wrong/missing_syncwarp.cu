// Neighbouring lanes exchange by shared memory, without __syncwarp between write and read.
// exam: Race grid=1 block=32
// arg out=u32[32]:none
extern "C" __global__ void k(unsigned *out) {
    __shared__ unsigned a[32];
    unsigned t = threadIdx.x;
    a[t] = t * t;
    out[t] = a[t ^ 1];
}
