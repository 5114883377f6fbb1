// One warp counts votes at the barrier at which the other only waits.
extern "C" __global__ void kernel(float* C) {
    unsigned yes = 0;
    if (threadIdx.x < 32)
        asm volatile(
            "{\n.reg .pred p;\nsetp.eq.u32 p, %1, 0;\nbarrier.cta.red.popc.aligned.u32 %0, 1, 64, p;\n}"
            : "=r"(yes)
            : "r"(threadIdx.x % 2)
            : "memory");
    else
        asm volatile("bar.sync 1, 64;" ::: "memory");
    C[threadIdx.x] = yes;
}
