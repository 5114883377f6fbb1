// The ignore-src predicate turns a copy into zeros.
// exam: right grid=1 block=32 sm=80
// arg in=u32[32]:ramp out=u32[32]:none
// gives out = 0 if i%3==0 else i
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
    __shared__ unsigned a[32];
    unsigned t = threadIdx.x, at = (unsigned)__cvta_generic_to_shared(a + t), ignore = t % 3 == 0;
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; cp.async.ca.shared.global [%0], [%1], 4, p; }" ::"r"(at), "l"(in + t), "r"(ignore) : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    out[t] = a[t];
}
