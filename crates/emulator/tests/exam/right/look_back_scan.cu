// A scan in one pass: tiles by ticket, aggregates and prefixes published by flag, each tile looks back.
// exam: right grid=9 block=32
// arg in=u32[288]:ramp ticket=u32[1]:zero flag=u32[9]:zero aggregate=u32[9]:none prefix=u32[9]:none out=u32[288]:none
// gives out = i*(i+1)//2
__device__ unsigned acquire(unsigned *p) {
    unsigned v;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}
__device__ void release(unsigned *p, unsigned v) {
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}
extern "C" __global__ void k(const unsigned *in, unsigned *ticket, unsigned *flag, unsigned *aggregate, unsigned *prefix, unsigned *out) {
    unsigned lane = threadIdx.x, tile = 0;
    if (lane == 0) tile = atomicAdd(ticket, 1);
    tile = __shfl_sync(~0u, tile, 0);
    unsigned v = in[tile * 32 + lane];
    for (unsigned d = 1; d < 32; d *= 2) {
        unsigned below = __shfl_up_sync(~0u, v, d);
        if (lane >= d) v += below;
    }
    unsigned before = 0;
    if (lane == 31) {
        aggregate[tile] = v;
        if (tile) release(&flag[tile], 1);
        for (int at = (int)tile - 1; at >= 0; --at) {
            unsigned state;
            while (!(state = acquire(&flag[at]))) {}
            if (state == 2) { before += prefix[at]; break; }
            before += aggregate[at];
        }
        prefix[tile] = before + v;
        release(&flag[tile], 2);
    }
    before = __shfl_sync(~0u, before, 31);
    out[tile * 32 + lane] = before + v;
}
