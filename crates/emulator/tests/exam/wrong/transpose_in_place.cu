// A square is transposed in place, each thread moving one element.
// exam: Race grid=4 block=64
// arg a=u32[256]:ramp
extern "C" __global__ void k(unsigned *a) {
    unsigned t = blockIdx.x * 64 + threadIdx.x, v = a[t % 16 * 16 + t / 16];
    __syncthreads();
    a[t] = v;
}
