// hazard: a grid barrier by hand lets the blocks pass when all but one have come
// source: pattern of hand-written grid barriers that compare with gridDim - 1
// verdict: wrong
// wrong at: out[128 * next + t] = part[128 * next + t];
// order: the last block has not written when the others read
// expect: race | uninitialised
// launch: --arch compute_80 --grid 4 --block 128 --arg part:f32[512] --arg count:u32[1]=zeros --arg out:f32[512] --expect out=range

#define LD_ACQUIRE(value, p) asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(p) : "memory")
#define ADD_ACQ_REL(old, p) asm volatile("atom.add.acq_rel.gpu.global.u32 %0, [%1], 1;" : "=r"(old) : "l"(p) : "memory")

extern "C" __global__ void kernel(float* part, unsigned* count, float* out) {
    int t = threadIdx.x, block = blockIdx.x, next = (block + 1) % gridDim.x;
    part[128 * block + t] = 128 * block + t;  // <-- with
    __syncthreads();
    if (t == 0) {
        unsigned seen;
        ADD_ACQ_REL(seen, count);
        do {
            LD_ACQUIRE(seen, count);
        } while (seen < gridDim.x - 1);
    }
    __syncthreads();
    out[128 * next + t] = part[128 * next + t];  // <-- here
}
