// A buffer is read, a barrier passes, and only then a copy refills it: with one buffer that takes two barriers per step.
// exam: right grid=1 block=64 sm=80
// arg in=u32[256]:ramp out=u32[64]:none
// gives out = sum(64*s + (i+1)%64 for s in range(4))
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
    __shared__ unsigned a[64];
    unsigned t = threadIdx.x, at = (unsigned)__cvta_generic_to_shared(a + t), sum = 0;
    for (int s = 0; s < 4; ++s) {
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at), "l"(in + 64 * s + t) : "memory");
        asm volatile("cp.async.wait_all;" ::: "memory");
        __syncthreads();
        sum += a[(t + 1) % 64];
        __syncthreads();
    }
    out[t] = sum;
}
