// The source size of a copy of 4 bytes is 8, by a mistake in its arithmetic: the manual leaves that undefined.
// exam: OutOfBounds|Refused|Misaligned grid=1 block=32 sm=80
// arg in=u32[64]:ramp out=u32[32]:none n=i32:8
extern "C" __global__ void k(const unsigned *in, unsigned *out, int n) {
    __shared__ unsigned a[64];
    unsigned t = threadIdx.x, at = (unsigned)__cvta_generic_to_shared(a + t);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(at), "l"(in + t), "r"(n) : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    out[t] = a[t];
}
