// ldmatrix.sync.aligned in a branch that only the lower half of the warp takes.
// exam: Barrier grid=1 block=32
// arg out=u32[32]:zero
extern "C" __global__ void k(unsigned *out) {
    __shared__ __align__(16) unsigned a[32];
    unsigned t = threadIdx.x, v, at = (unsigned)__cvta_generic_to_shared(a + t % 8 * 4);
    a[t] = t;
    __syncwarp();
    if (t < 16) {
        asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(v) : "r"(at) : "memory");
        out[t] = v;
    }
}
