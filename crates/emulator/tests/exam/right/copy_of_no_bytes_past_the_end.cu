// A copy of zero bytes from an address past the end reads nothing: it only writes zeros.
// exam: right grid=1 block=32 sm=80
// arg in=u32[20]:ramp out=u32[32]:none n=i32:20
// gives out = i if i < 20 else 0
extern "C" __global__ void k(const unsigned *in, unsigned *out, int n) {
    __shared__ unsigned a[32];
    int t = threadIdx.x;
    unsigned at = (unsigned)__cvta_generic_to_shared(a + t), bytes = t < n ? 4 : 0;
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(at), "l"(in + t), "r"(bytes) : "memory");
    asm volatile("cp.async.commit_group;\n cp.async.wait_group 0;" ::: "memory");
    out[t] = a[t];
}
