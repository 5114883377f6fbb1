// A __device__ array of 16, written by 32 threads.
// exam: OutOfBounds grid=1 block=32
// arg out=u32[32]:none
__device__ unsigned table[16];
extern "C" __global__ void k(unsigned *out) {
    volatile unsigned *p = table;
    p[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = 1;
}
