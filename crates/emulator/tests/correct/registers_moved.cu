// A producer warpgroup gives registers back, and two consumers take more.

__device__ void fewer() { asm volatile("setmaxnreg.dec.sync.aligned.u32 40;"); }

__device__ void more() { asm volatile("setmaxnreg.inc.sync.aligned.u32 232;"); }

extern "C" __global__ void kernel(const float* A, float* C) {
    int t = threadIdx.x;
    if (t < 128) {
        fewer();
    } else {
        more();
    }
    C[t % 64] = A[t % 64];
}
