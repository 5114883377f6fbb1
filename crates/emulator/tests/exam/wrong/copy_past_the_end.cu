// cp.async of whole 16 bytes at the edge, where only 4 bytes exist.
// exam: OutOfBounds grid=1 block=32 sm=80
// arg in=u32[121]:ramp out=u32[32]:none
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
    __shared__ __align__(16) unsigned a[128];
    unsigned t = threadIdx.x, at = (unsigned)__cvta_generic_to_shared(a + 4 * t);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(in + 4 * t) : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    out[t] = a[4 * t];
}
