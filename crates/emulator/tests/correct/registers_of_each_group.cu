// Each warpgroup comes to its own instruction, which sets the same number.

__device__ void fewer() { asm volatile("setmaxnreg.dec.sync.aligned.u32 24;"); }

__device__ void more() { asm volatile("setmaxnreg.inc.sync.aligned.u32 240;"); }

extern "C" __global__ void kernel(const float* A, float* C) {
    int t = threadIdx.x;
    if (t / 128 == 0) fewer();
    if (t / 128 == 1) more();
    if (t / 128 == 2) more();
    C[t % 64] = A[t % 64];
}
