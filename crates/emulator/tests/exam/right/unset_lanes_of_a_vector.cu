// A 16-byte load reads also a neighbour that nobody wrote, and does not use it.
// exam: right grid=1 block=32
// arg a=u32[128]:none out=u32[32]:none
// gives out = 3*i + 3
extern "C" __global__ void k(unsigned *a, unsigned *out) {
    unsigned t = threadIdx.x;
    a[4 * t] = t;
    a[4 * t + 1] = t + 1;
    a[4 * t + 2] = t + 2;
    unsigned x, y, z, w;
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(x), "=r"(y), "=r"(z), "=r"(w) : "l"(a + 4 * t) : "memory");
    out[t] = x + y + z + (w & 0);
}
