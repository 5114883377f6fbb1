// elect.sync called by all lanes with the mask of the upper half.
// exam: Barrier grid=1 block=32 sm=90
// arg out=u32[32]:none
extern "C" __global__ void k(unsigned *out) {
    unsigned chosen;
    asm volatile("{ .reg .pred p; elect.sync _|p, 0xffff0000; selp.u32 %0, 1, 0, p; }" : "=r"(chosen));
    out[threadIdx.x] = chosen;
}
