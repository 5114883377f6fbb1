// 33 columns are written to rows of 32: the last row ends outside the array.
// exam: OutOfBounds grid=1 block=33
// arg out=u32[33]:none
extern "C" __global__ void k(unsigned *out) {
    __shared__ unsigned a[4][32];
    unsigned t = threadIdx.x;
    for (int r = 0; r < 4; ++r) {
        (&a[0][0])[r * 32 + t] = t;
        __syncthreads();
    }
    out[t] = a[1][t % 32];
}
