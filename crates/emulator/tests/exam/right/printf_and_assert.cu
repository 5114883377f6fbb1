// A line printed by two threads, and an assertion that holds.
// exam: right grid=1 block=32
// arg out=u32[32]:none
// gives out = i
extern "C" __global__ void k(unsigned *out) {
    unsigned t = threadIdx.x;
    assert(t < 32);
    if (t < 2) printf("thread %u of %d: %f\n", t, blockDim.x, 0.5 * t);
    out[t] = t;
}
