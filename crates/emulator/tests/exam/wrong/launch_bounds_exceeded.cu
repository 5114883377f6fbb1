// __launch_bounds__(64), launched with 128 threads.
// exam: Refused grid=1 block=128
// arg out=u32[128]:none
extern "C" __global__ void __launch_bounds__(64) k(unsigned *out) { out[threadIdx.x] = threadIdx.x; }
