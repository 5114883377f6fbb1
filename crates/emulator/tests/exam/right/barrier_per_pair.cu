// Four pairs of warps, each pair with a named barrier of its own and another number of rounds.
// exam: right grid=1 block=256
// arg out=u32[256]:none
// gives out = ((i ^ 32) if (i//64+1) % 2 else i) + i//64 + 1
extern "C" __global__ void k(unsigned *out) {
    __shared__ unsigned cell[256];
    unsigned t = threadIdx.x, pair = t / 64, value = t;
    for (unsigned round = 0; round <= pair; ++round) {
        cell[t] = value + 1;
        asm volatile("bar.sync %0, 64;" ::"r"(pair + 1) : "memory");
        unsigned other = cell[t ^ 32];
        asm volatile("bar.sync %0, 64;" ::"r"(pair + 1) : "memory");
        value = other;
    }
    out[t] = value;
}
