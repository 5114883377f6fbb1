// Two of three warpgroups ask for 240 registers for each thread, and the third keeps the 168 that it was launched with.
extern "C" __global__ void __launch_bounds__(384, 1) kernel(const float* A, float* C) {
    int t = threadIdx.x;
    if (t >= 128) asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
    C[t % 64] = A[t % 64];
}
