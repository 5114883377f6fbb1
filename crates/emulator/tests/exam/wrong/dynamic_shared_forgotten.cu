// Dynamic shared memory is used beside a static array, and the launch gives none.
// exam: OutOfBounds grid=1 block=32
// arg out=u32[32]:none
extern "C" __global__ void k(unsigned *out) {
    extern __shared__ unsigned a[];
    __shared__ unsigned fixed[32];
    unsigned t = threadIdx.x;
    fixed[t] = t;
    a[t] = t;
    __syncthreads();
    out[t] = a[31 - t] + fixed[t ^ 1];
}
