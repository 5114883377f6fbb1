// The lanes that happen to be together in a branch elect a leader, which adds for them: any grouping gives the same sum.
// exam: right grid=2 block=96
// arg total=u32[1]:zero
// gives total = sum(1 for t in range(192) if t%5<2)
extern "C" __global__ void k(unsigned *total) {
    unsigned t = blockIdx.x * 96 + threadIdx.x;
    if (t % 5 < 2) {
        unsigned mask = __activemask();
        unsigned leader = __ffs(mask) - 1;
        if (threadIdx.x % 32 == leader) atomicAdd(total, __popc(mask));
    }
}
