// wait_group 0 stands before the commit: it waits for groups only, and there is none yet.
// exam: Race|Uninitialised grid=1 block=32 sm=80
// arg in=u32[32]:ramp out=u32[32]:none
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
    __shared__ unsigned a[32];
    unsigned t = threadIdx.x, at = (unsigned)__cvta_generic_to_shared(a + t);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at), "l"(in + t) : "memory");
    asm volatile("cp.async.wait_group 0;\n cp.async.commit_group;" ::: "memory");
    out[t] = a[t];
}
