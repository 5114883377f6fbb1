// A barrier with a count of 96 in a block of 64 threads.
// exam: Barrier grid=1 block=64
// arg out=u32[64]:none n=i32:96
extern "C" __global__ void k(unsigned *out, int n) {
    asm volatile("bar.sync 2, %0;" ::"r"(n) : "memory");
    out[threadIdx.x] = threadIdx.x;
}
