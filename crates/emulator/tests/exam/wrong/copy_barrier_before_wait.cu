// The barrier stands before the wait, so that it says nothing about the copies of others.
// exam: Race grid=1 block=64 sm=80
// arg in=u32[64]:ramp out=u32[64]:none
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
    __shared__ unsigned a[64];
    unsigned t = threadIdx.x, at = (unsigned)__cvta_generic_to_shared(a + t);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at), "l"(in + t) : "memory");
    __syncthreads();
    asm volatile("cp.async.wait_all;" ::: "memory");
    out[t] = a[(t + 32) % 64];
}
