// Another thread's write is read by ld.global.nc after a barrier: ordered, and still not allowed.
// exam: Race grid=1 block=64
// arg a=u32[64]:ramp out=u32[64]:none
extern "C" __global__ void k(unsigned *a, unsigned *out) {
    unsigned t = threadIdx.x;
    a[t] = t + 7;
    __syncthreads();
    out[t] = __ldg(a + 63 - t);
}
