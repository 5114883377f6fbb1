// The kernel needs 256 bytes of dynamic shared memory, and the launch gives 128.
// exam: OutOfBounds grid=1 block=64 smem=128
// arg out=u32[64]:none
extern "C" __global__ void k(unsigned *out) {
    extern __shared__ unsigned a[];
    unsigned t = threadIdx.x;
    a[t] = t;
    __syncthreads();
    out[t] = a[63 - t];
}
