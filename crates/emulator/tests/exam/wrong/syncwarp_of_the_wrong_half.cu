// Each half synchronises with itself, but reads what the other half wrote.
// exam: Race grid=1 block=32
// arg out=u32[32]:none
extern "C" __global__ void k(unsigned *out) {
    __shared__ unsigned a[32];
    unsigned t = threadIdx.x;
    a[t] = t;
    if (t < 16) {
        __syncwarp(0x0000ffffu);
        out[t] = a[t + 16];
    } else {
        __syncwarp(0xffff0000u);
        out[t] = a[t - 16];
    }
}
