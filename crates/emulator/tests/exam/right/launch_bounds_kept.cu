// __launch_bounds__(96), launched with 96 threads.
// exam: right grid=2 block=96
// arg out=u32[192]:none
// gives out = i
extern "C" __global__ void __launch_bounds__(96) k(unsigned *out) {
    unsigned t = blockIdx.x * 96 + threadIdx.x;
    out[t] = t;
}
