// mma.sync after the lanes past the end have left.
// exam: Barrier grid=1 block=32 sm=80
// arg out=f32[32]:zero n=i32:24
extern "C" __global__ void k(float *out, int n) {
    int t = threadIdx.x;
    if (t >= n) return;
    float c[4] = {0, 0, 0, 0};
    unsigned one = 0x3c003c00u;
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %4, %4, %4}, {%4, %4}, {%0, %1, %2, %3};" : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(one));
    out[t] = c[0];
}
