// A stencil in place: each block reads its right neighbour's first element, before or after that has been changed.
// exam: Race grid=8 block=32
// arg a=u32[256]:ramp
extern "C" __global__ void k(unsigned *a) {
    unsigned t = blockIdx.x * 32 + threadIdx.x;
    unsigned right = a[(t + 1) % 256];
    __syncthreads();
    a[t] += right;
}
