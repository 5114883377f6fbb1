// ldmatrix x1 uses the addresses of lanes 0 to 7 only: those of the others may be anything.
// exam: right grid=1 block=32
// arg out=u32[32]:none
// gives out = (2*i) | ((2*i+1) << 16)
extern "C" __global__ void k(unsigned *out) {
    __shared__ __align__(16) unsigned short a[64];
    unsigned t = threadIdx.x, v;
    a[t] = t;
    a[t + 32] = t + 32;
    __syncwarp();
    unsigned at = t < 8 ? (unsigned)__cvta_generic_to_shared(a + 8 * t) : 0xfffffff3u;
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(v) : "r"(at) : "memory");
    out[t] = v;
}
