// One warp fills a tile, another one takes it by ldmatrix; only __syncwarp stands between.
// exam: Race grid=1 block=64
// arg out=u32[32]:none
extern "C" __global__ void k(unsigned *out) {
    __shared__ __align__(16) unsigned a[32];
    unsigned t = threadIdx.x, v;
    if (t < 32) a[t] = t;
    __syncwarp();
    if (t >= 32) {
        unsigned at = (unsigned)__cvta_generic_to_shared(a + t % 8 * 4);
        asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(v) : "r"(at) : "memory");
        out[t - 32] = v;
    }
}
