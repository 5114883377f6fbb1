// A sum begins in a register that nobody has set.
// exam: Uninitialised grid=1 block=32
// arg in=u32[32]:ramp out=u32[32]:none
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
    unsigned v;
    asm volatile("{ .reg .u32 x; add.u32 x, x, %1; mov.u32 %0, x; }" : "=r"(v) : "r"(in[threadIdx.x]));
    out[threadIdx.x] = v;
}
