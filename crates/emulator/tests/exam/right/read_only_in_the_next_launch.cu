// What one launch writes, the next one may read by ld.global.nc.
// exam: right grid=2 block=64 launches=2
// arg a=u32[128]:ramp b=u32[128]:zero round=u32[128]:zero
// gives b = 127 - i + 5
extern "C" __global__ void k(unsigned *a, unsigned *b, unsigned *round) {
    unsigned t = blockIdx.x * 64 + threadIdx.x;
    if (round[t] == 0) a[t] = t + 5;
    else b[t] = __ldg(a + 127 - t);
    round[t] = 1;
}
