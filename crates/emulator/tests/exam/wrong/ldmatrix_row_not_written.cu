// Seven of eight rows of a matrix are filled before ldmatrix takes all eight.
// exam: Uninitialised grid=1 block=32
// arg out=u32[32]:none
extern "C" __global__ void k(unsigned *out) {
    __shared__ __align__(16) unsigned a[32];
    unsigned t = threadIdx.x, v, at = (unsigned)__cvta_generic_to_shared(a + t % 8 * 4);
    if (t < 28) a[t] = t;
    __syncwarp();
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(v) : "r"(at) : "memory");
    out[t] = v;
}
