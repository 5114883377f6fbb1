// A __device__ counter and array keep their values from launch to launch.
// exam: right grid=1 block=32 launches=3
// arg out=u32[32]:none
// gives out = 3*(i+1) + 10
__device__ unsigned table[32];
__device__ unsigned base = 10;
extern "C" __global__ void k(unsigned *out) {
    unsigned t = threadIdx.x;
    table[t] += t + 1;
    out[t] = table[t] + base;
}
