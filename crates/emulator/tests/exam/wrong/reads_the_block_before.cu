// Each block adds its number to what the block before has written: right only if blocks run one after the other.
// exam: Race grid=8 block=32
// arg out=u32[256]:zero
extern "C" __global__ void k(unsigned *out) {
    unsigned t = blockIdx.x * 32 + threadIdx.x;
    unsigned before = blockIdx.x ? out[t - 32] : 0;
    out[t] = before + blockIdx.x;
}
