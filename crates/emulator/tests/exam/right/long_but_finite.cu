// Three hundred thousand steps of a generator in each of two threads.
// exam: right grid=1 block=2
// arg out=u32[2]:none
// gives out = (__import__('functools').reduce(lambda x, _: (x*1664525 + 1013904223) & 0xffffffff, range(300000), 12345))
extern "C" __global__ void k(unsigned *out) {
    unsigned x = 12345;
#pragma unroll 1
    for (int i = 0; i < 300000; ++i) x = x * 1664525u + 1013904223u;
    out[threadIdx.x] = x;
}
