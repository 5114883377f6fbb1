// Threads set bits of their own in a common word, by reading and writing the whole word.
// exam: Race grid=1 block=64
// arg out=u32[2]:none
extern "C" __global__ void k(unsigned *out) {
    __shared__ unsigned bits[2];
    unsigned t = threadIdx.x;
    if (t < 2) bits[t] = 0;
    __syncthreads();
    bits[t % 2] |= 1u << (t / 2);
    __syncthreads();
    if (t < 2) out[t] = bits[t];
}
