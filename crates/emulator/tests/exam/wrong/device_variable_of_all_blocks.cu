// All blocks use one __device__ variable as if it were their own.
// exam: Race grid=4 block=32
// arg out=u32[4]:none
__device__ unsigned scratch;
extern "C" __global__ void k(unsigned *out) {
    if (threadIdx.x) return;
    *(volatile unsigned *)&scratch;
    scratch = blockIdx.x;
    asm volatile("" ::: "memory");
    out[blockIdx.x] = *&scratch + 1;
}
