// Threads write neighbouring bytes of the same word; nobody touches a byte of another, and words are read after the barrier.
// exam: right grid=1 block=128
// arg out=u32[32]:none
// gives out = sum(((4*i+j)&255) << (8*j) for j in range(4))
extern "C" __global__ void k(unsigned *out) {
    __shared__ unsigned words[32];
    unsigned t = threadIdx.x;
    ((unsigned char *)words)[t] = t;
    __syncthreads();
    if (t < 32) out[t] = words[t];
}
