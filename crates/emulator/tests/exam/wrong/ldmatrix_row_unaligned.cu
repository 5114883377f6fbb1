// The rows of a matrix for ldmatrix begin at multiples of 8 bytes instead of 16.
// exam: Misaligned grid=1 block=32
// arg out=u32[32]:none
extern "C" __global__ void k(unsigned *out) {
    __shared__ __align__(16) unsigned a[64];
    unsigned t = threadIdx.x, v, at = (unsigned)__cvta_generic_to_shared(a + t % 8 * 6);
    a[t] = t;
    a[t + 32] = t;
    __syncwarp();
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(v) : "r"(at) : "memory");
    out[t] = v;
}
