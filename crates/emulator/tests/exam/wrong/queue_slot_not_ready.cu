// A slot is claimed by an atomic and then filled; the reader trusts the counter, though the slot may still be empty.
// exam: Race|Uninitialised grid=3 block=32
// arg tail=u32[1]:zero item=u32[64]:zero out=u32[32]:none
extern "C" __global__ void k(unsigned *tail, unsigned *item, unsigned *out) {
    unsigned lane = threadIdx.x;
    if (blockIdx.x) {
        unsigned slot = atomicAdd(tail, 1);
        item[slot] = slot + 1;
        __threadfence();
    } else {
        unsigned n;
        while ((n = atomicAdd(tail, 0)) < 64) {}
        __threadfence();
        out[lane] = item[lane] + item[lane + 32];
    }
}
