// 64-bit atomics hold a maximum and its place in one word.
// exam: right grid=4 block=64
// arg in=u32[256]:rand best=u64[1]:zero
// gives best = max((v << 32) | (255 - j) for j, v in enumerate(IN))
extern "C" __global__ void k(const unsigned *in, unsigned long long *best) {
    unsigned t = blockIdx.x * 64 + threadIdx.x;
    atomicMax(best, (unsigned long long)in[t] << 32 | (255 - t));
}
