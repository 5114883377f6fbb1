// Each lane calls one of three functions by a pointer from a table.
// exam: right grid=1 block=32
// arg out=u32[32]:none
// gives out = [i+1, i*i, 100-i][i%3]
__device__ __noinline__ unsigned next(unsigned x) { return x + 1; }
__device__ __noinline__ unsigned square(unsigned x) { return x * x; }
__device__ __noinline__ unsigned rest(unsigned x) { return 100 - x; }
typedef unsigned (*Function)(unsigned);
__device__ Function table[3] = {next, square, rest};
extern "C" __global__ void k(unsigned *out) { out[threadIdx.x] = table[threadIdx.x % 3](threadIdx.x); }
