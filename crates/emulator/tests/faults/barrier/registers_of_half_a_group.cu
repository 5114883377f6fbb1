// Two warps of the first warpgroup give registers back, and the other two do not.

__device__ void fewer() { asm volatile("setmaxnreg.dec.sync.aligned.u32 40;"); }

__device__ void more() { asm volatile("setmaxnreg.inc.sync.aligned.u32 232;"); }

extern "C" __global__ void kernel(const float* A, float* C) {
    int t = threadIdx.x;
    if (t < 64) {
        fewer();
    } else if (t >= 128) {
        more();
    }
    C[t % 64] = A[t % 64];
}
