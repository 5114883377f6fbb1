// Dynamic shared memory, carved into an array of doubles and one of bytes.
// exam: right grid=2 block=32 smem=288
// arg out=f64[64]:none
// gives out = (31 - i%32)*0.5 + (i%32 + 1)%32 + (i//32)
extern "C" __global__ void k(double *out) {
    extern __shared__ __align__(8) unsigned char raw[];
    double *d = (double *)raw;
    unsigned char *c = raw + 256;
    unsigned t = threadIdx.x;
    d[t] = t * 0.5;
    c[t] = t;
    __syncthreads();
    out[blockIdx.x * 32 + t] = d[31 - t] + c[(t + 1) % 32] + blockIdx.x;
}
