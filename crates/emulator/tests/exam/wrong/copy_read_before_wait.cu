// cp.async is committed, but nobody waits for it before the data are read.
// exam: Race|Uninitialised grid=1 block=32 sm=80
// arg in=u32[32]:ramp out=u32[32]:none
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
    __shared__ unsigned a[32];
    unsigned t = threadIdx.x, at = (unsigned)__cvta_generic_to_shared(a + t);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at), "l"(in + t) : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
    __syncthreads();
    out[t] = a[t];
}
