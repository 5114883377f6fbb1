// One pointer goes to shared, to local or to global memory, lane by lane: generic addresses.
// exam: right grid=1 block=33
// arg in=u32[33]:ramp out=u32[33]:none
// gives out = [i, i+100, i+200][i%3]
extern "C" __global__ void k(unsigned *in, unsigned *out) {
    __shared__ unsigned s[33];
    volatile unsigned mine[2];
    unsigned t = threadIdx.x;
    s[t] = t + 100;
    mine[t % 2] = t + 200;
    mine[1 - t % 2] = 0;
    unsigned *p = t % 3 == 0 ? in + t : t % 3 == 1 ? s + t : (unsigned *)mine + t % 2;
    out[t] = *(volatile unsigned *)p;
}
