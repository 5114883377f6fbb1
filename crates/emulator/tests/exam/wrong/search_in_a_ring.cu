// A probe of a hash table that is full goes round for ever.
// exam: NoProgress grid=1 block=32
// arg table=u32[16]:ones out=u32[32]:none
extern "C" __global__ void k(const unsigned *table, unsigned *out) {
    unsigned at = threadIdx.x % 16;
    while (*(volatile const unsigned *)(table + at) != 0) at = (at + 1) % 16;
    out[threadIdx.x] = at;
}
