// A pipeline of two buffers without the second barrier: the next copy goes into the buffer that slower warps still read.
// exam: Race grid=1 block=64 sm=80
// arg in=u32[512]:ramp out=u32[64]:none
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
    __shared__ unsigned a[2][64];
    unsigned t = threadIdx.x, sum = 0;
    auto copy = [&](int s) {
        unsigned at = (unsigned)__cvta_generic_to_shared(&a[s % 2][t]);
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at), "l"(in + 64 * s + t) : "memory");
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
    copy(0);
    copy(1);
    for (int s = 0; s < 6; ++s) {
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        sum += a[s % 2][63 - t];
        copy(s + 2);
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
    out[t] = sum;
}
