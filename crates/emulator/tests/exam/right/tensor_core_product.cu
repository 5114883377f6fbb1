// One warp multiplies 16x16 by 16x8 halves: ldmatrix for both operands, mma.m16n8k16, float sums.
// exam: right grid=1 block=32 sm=80
// arg a=u16[256]:half b=u16[128]:half out=f32[128]:none
// gives out = sum(HALF(r*16+k)*HALF(k*8+c) for r in [i//8] for c in [i%8] for k in range(16))
extern "C" __global__ void k(const unsigned short *a, const unsigned short *b, float *out) {
    __shared__ __align__(16) unsigned short sa[256], sb[128];
    unsigned t = threadIdx.x;
    for (unsigned i = t; i < 256; i += 32) sa[i] = a[i];
    for (unsigned i = t; i < 128; i += 32) sb[i] = b[i];
    __syncwarp();
    unsigned ra[4], rb[2];
    unsigned at = (unsigned)__cvta_generic_to_shared(sa + (t % 16) * 16 + t / 16 * 8);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3]) : "r"(at) : "memory");
    at = (unsigned)__cvta_generic_to_shared(sb + (t % 16) * 8);
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(rb[0]), "=r"(rb[1]) : "r"(at) : "memory");
    float c[4] = {};
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
    unsigned row = t / 4, col = t % 4 * 2;
    out[row * 8 + col] = c[0];
    out[row * 8 + col + 1] = c[1];
    out[(row + 8) * 8 + col] = c[2];
    out[(row + 8) * 8 + col + 1] = c[3];
}
