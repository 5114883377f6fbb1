// A thread writes a cell and reads it back by ld.global.nc, which is for memory that the launch does not write.
// exam: Race grid=1 block=32
// arg a=u32[32]:ramp out=u32[32]:none
extern "C" __global__ void k(unsigned *a, unsigned *out) {
    unsigned t = threadIdx.x;
    a[t] = t + 7;
    __syncwarp();
    out[t] = __ldg(a + t);
}
