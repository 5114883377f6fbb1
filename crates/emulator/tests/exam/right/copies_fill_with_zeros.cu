// At the edge cp.async copies the bytes that exist and fills the rest with zeros: the whole tile is then there.
// exam: right grid=1 block=32 sm=80
// arg in=u32[70]:ramp out=u32[128]:none n=i32:70
// gives out = i if i < 70 else 0
extern "C" __global__ void k(const unsigned *in, unsigned *out, int n) {
    __shared__ __align__(16) unsigned a[128];
    int t = threadIdx.x, left = n - 4 * t;
    unsigned bytes = left >= 4 ? 16 : left > 0 ? 4 * left : 0;
    unsigned at = (unsigned)__cvta_generic_to_shared(a + 4 * t);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(bytes ? in + 4 * t : in), "r"(bytes) : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncwarp();
    for (int i = t; i < 128; i += 32) out[i] = a[i];
}
