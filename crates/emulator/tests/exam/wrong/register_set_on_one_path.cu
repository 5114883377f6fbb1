// A register is set under a predicate, and used without it.
// exam: Uninitialised grid=1 block=32
// arg in=u32[32]:ramp out=u32[32]:none
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
    unsigned v;
    asm volatile("{ .reg .u32 x; .reg .pred p; setp.gt.u32 p, %1, 3; @p mul.lo.u32 x, %1, 2; add.u32 %0, x, 1; }" : "=r"(v) : "r"(in[threadIdx.x]));
    out[threadIdx.x] = v;
}
