// A queue between blocks: a slot is claimed by an atomic, filled, and then marked by a release; the reader acquires the mark.
// exam: right grid=4 block=32
// arg tail=u32[1]:zero item=u32[96]:none ready=u32[96]:zero out=u32[1]:none
// gives out = sum(range(96))
extern "C" __global__ void k(unsigned *tail, unsigned *item, unsigned *ready, unsigned *out) {
    unsigned lane = threadIdx.x;
    if (blockIdx.x) {
        unsigned slot = atomicAdd(tail, 1);
        item[slot] = (blockIdx.x - 1) * 32 + lane;
        asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(ready + slot) : "memory");
    } else {
        unsigned sum = 0;
        for (unsigned slot = lane; slot < 96; slot += 32) {
            unsigned seen;
            do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(ready + slot) : "memory"); while (!seen);
            sum += item[slot];
        }
        for (unsigned d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
        if (lane == 0) *out = sum;
    }
}
