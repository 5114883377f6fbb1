// Two pairs of warps synchronise by pair, but read the array of the other pair.
// exam: Race grid=1 block=128
// arg out=u32[128]:none
extern "C" __global__ void k(unsigned *out) {
    __shared__ unsigned a[128];
    unsigned t = threadIdx.x, pair = t / 64;
    a[t] = t;
    asm volatile("bar.sync %0, 64;" ::"r"(pair + 1) : "memory");
    out[t] = a[(t + 64) % 128];
}
