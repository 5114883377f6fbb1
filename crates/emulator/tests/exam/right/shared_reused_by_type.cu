// The same shared bytes hold floats first and integers later, with a barrier between the uses.
// exam: right grid=1 block=64
// arg out=u32[64]:none
// gives out = (63 - i)*4 + (i ^ 5)
extern "C" __global__ void k(unsigned *out) {
    __shared__ union { float f[64]; unsigned u[64]; } a;
    unsigned t = threadIdx.x;
    a.f[t] = t * 4.0f;
    __syncthreads();
    unsigned v = (unsigned)a.f[63 - t];
    __syncthreads();
    a.u[t] = t;
    __syncthreads();
    out[t] = v + a.u[t ^ 5];
}
