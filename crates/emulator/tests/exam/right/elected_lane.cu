// elect.sync chooses one lane of each warp, which writes for all.
// exam: right grid=1 block=128 sm=90
// arg out=u32[4]:none
// gives out = 32
extern "C" __global__ void k(unsigned *out) {
    unsigned chosen;
    asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p; }" : "=r"(chosen));
    unsigned n = __popc(__ballot_sync(0xffffffffu, chosen)) + 31;
    if (chosen) out[threadIdx.x / 32] = n;
}
