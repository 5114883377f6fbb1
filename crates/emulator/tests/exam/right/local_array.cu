// An array of a thread's own at an index that is not known before it runs: local memory, all of it written first.
// exam: right grid=1 block=64
// arg in=u32[64]:rand out=u32[64]:none
// gives out = sum((j*j+i)*(1 if j != IN[i]%16 else 0) for j in range(16)) + (IN[i]%16)
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
    unsigned a[16], t = threadIdx.x, at = in[t] % 16;
    for (unsigned j = 0; j < 16; ++j) a[j] = j * j + t;
    a[at] = at;
    unsigned sum = 0;
#pragma unroll 1
    for (unsigned j = 0; j < 16; ++j) sum += a[(j + at) % 16];
    out[t] = sum;
}
