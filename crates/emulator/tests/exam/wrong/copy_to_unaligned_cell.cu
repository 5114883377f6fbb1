// cp.async of 16 bytes to an address in shared memory that is a multiple of 8.
// exam: Misaligned grid=1 block=8 sm=80
// arg in=u32[64]:ramp out=u32[8]:none
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
    __shared__ __align__(16) unsigned a[64];
    unsigned t = threadIdx.x, at = (unsigned)__cvta_generic_to_shared(a + 4 * t + 2);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(in + 4 * t) : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    out[t] = a[4 * t + 2];
}
