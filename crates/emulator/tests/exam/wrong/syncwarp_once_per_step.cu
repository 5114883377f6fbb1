// A warp's reduction with one __syncwarp per step: the write of a step can come before a slower lane's read of it.
// exam: Race grid=1 block=32
// arg in=u32[32]:ramp out=u32[1]:none
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
    __shared__ unsigned a[32];
    unsigned t = threadIdx.x;
    a[t] = in[t];
    __syncwarp();
    for (unsigned d = 16; d; d /= 2) {
        a[t] += a[(t + d) % 32];
        __syncwarp();
    }
    if (t == 0) *out = a[0];
}
