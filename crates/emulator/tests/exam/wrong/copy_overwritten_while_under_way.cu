// A plain store to the destination of a copy that is still under way.
// exam: Race grid=1 block=32 sm=80
// arg in=u32[32]:ramp out=u32[32]:none
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
    __shared__ volatile unsigned a[32];
    unsigned t = threadIdx.x, at = (unsigned)__cvta_generic_to_shared((unsigned *)a + t);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at), "l"(in + t) : "memory");
    a[t] = 5;
    asm volatile("cp.async.wait_all;" ::: "memory");
    out[t] = a[t];
}
