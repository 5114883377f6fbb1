// A function that calls itself.
// exam: right grid=1 block=16
// arg out=u32[16]:none
// gives out = (lambda f: f(f, i))(lambda f, n: n if n < 2 else f(f, n-1) + f(f, n-2))
__device__ __noinline__ unsigned fib(unsigned n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
extern "C" __global__ void k(unsigned *out) { out[threadIdx.x] = fib(threadIdx.x); }
