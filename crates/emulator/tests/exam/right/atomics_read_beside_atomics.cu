// Threads add to a counter and read it by atomics only, in no order; only the final value is kept.
// exam: right grid=4 block=64
// arg counter=u32[1]:zero out=u32[256]:none
// gives counter = 256
// gives out = 1
extern "C" __global__ void k(unsigned *counter, unsigned *out) {
    unsigned before = atomicAdd(counter, 1), seen = atomicAdd(counter, 0);
    out[blockIdx.x * 64 + threadIdx.x] = seen > before;
}
