// Half of each warp sets the number of its registers.

__device__ void fewer() { asm volatile("setmaxnreg.dec.sync.aligned.u32 40;"); }

__device__ void more() { asm volatile("setmaxnreg.inc.sync.aligned.u32 232;"); }

extern "C" __global__ void kernel(const float* A, float* C) {
    int t = threadIdx.x;
    if (t % 32 < 16) fewer();
    C[t % 64] = A[t % 64];
}
