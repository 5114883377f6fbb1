// There are 16 barriers, 0 to 15; this one asks for number 16.
// exam: Barrier grid=1 block=64
// arg out=u32[64]:none n=i32:16
extern "C" __global__ void k(unsigned *out, int n) {
    asm volatile("bar.sync %0;" ::"r"(n) : "memory");
    out[threadIdx.x] = threadIdx.x;
}
