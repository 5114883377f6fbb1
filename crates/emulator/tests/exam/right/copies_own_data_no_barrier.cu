// Each thread copies 16 bytes, waits for its own copies, and reads only what it copied: no barrier is needed.
// exam: right grid=1 block=32 sm=80
// arg in=u32[128]:ramp out=u32[32]:none
// gives out = 16*i + 6
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
    __shared__ __align__(16) unsigned a[128];
    unsigned t = threadIdx.x, at = (unsigned)__cvta_generic_to_shared(a + 4 * t);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(in + 4 * t) : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    out[t] = a[4 * t] + a[4 * t + 1] + a[4 * t + 2] + a[4 * t + 3];
}
