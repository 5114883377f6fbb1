// The count of a barrier is 48, which is no multiple of the warp's size.
// exam: Barrier grid=1 block=64
// arg out=u32[64]:none n=i32:48
extern "C" __global__ void k(unsigned *out, int n) {
    asm volatile("bar.sync 2, %0;" ::"r"(n) : "memory");
    out[threadIdx.x] = threadIdx.x;
}
