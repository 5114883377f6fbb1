// __syncthreads_count where only the even lanes are; the odd ones are at the barrier behind it.
// exam: Barrier grid=1 block=64
// arg out=u32[64]:zero
extern "C" __global__ void k(unsigned *out) {
    unsigned t = threadIdx.x;
    if (t % 2 == 0) out[t] = __syncthreads_count(t < 10);
    __syncthreads();
    out[t] += 1;
}
