// Dynamic shared memory, carved so that the doubles begin behind 33 floats.
// exam: Misaligned grid=1 block=32 smem=512
// arg out=f64[32]:none
extern "C" __global__ void k(double *out) {
    extern __shared__ float raw[];
    double *d = (double *)(raw + 33);
    unsigned t = threadIdx.x;
    d[t] = t;
    __syncthreads();
    out[t] = d[31 - t];
}
