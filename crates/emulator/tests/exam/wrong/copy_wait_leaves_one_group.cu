// Two groups are under way; wait_group 1 ends the older one, and the younger one is read.
// exam: Race|Uninitialised grid=1 block=32 sm=80
// arg in=u32[64]:ramp out=u32[32]:none
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
    __shared__ unsigned a[64];
    unsigned t = threadIdx.x, at = (unsigned)__cvta_generic_to_shared(a + t);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;\n cp.async.commit_group;" ::"r"(at), "l"(in + t) : "memory");
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;\n cp.async.commit_group;" ::"r"(at + 128), "l"(in + 32 + t) : "memory");
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    __syncthreads();
    out[t] = a[32 + t];
}
