// A register that is set on one path only is used on that path only; the other path selects another value.
// exam: right grid=1 block=32
// arg out=u32[32]:none
// gives out = i*2 if i%2 else 7
extern "C" __global__ void k(unsigned *out) {
    unsigned t = threadIdx.x, v;
    asm volatile("{ .reg .u32 x; .reg .pred p; setp.ne.u32 p, %2, 0; @p shl.b32 x, %1, 1; selp.u32 %0, x, 7, p; }" : "=r"(v) : "r"(t), "r"(t % 2));
    out[t] = v;
}
