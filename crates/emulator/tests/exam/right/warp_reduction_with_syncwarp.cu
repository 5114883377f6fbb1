// A warp reduces in shared memory; between each read and the write of it stands a __syncwarp, and no __syncthreads anywhere.
// exam: right grid=2 block=96
// arg in=u32[192]:ramp out=u32[6]:none
// gives out = sum(range(32*i, 32*i+32))
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
    __shared__ unsigned a[96];
    unsigned t = threadIdx.x, lane = t % 32;
    unsigned *mine = a + t / 32 * 32;
    unsigned v = in[blockIdx.x * 96 + t];
    mine[lane] = v;
    __syncwarp();
    for (unsigned d = 16; d; d /= 2) {
        unsigned other = lane + d < 32 ? mine[lane + d] : 0;
        __syncwarp();
        v += other;
        mine[lane] = v;
        __syncwarp();
    }
    if (lane == 0) out[blockIdx.x * 3 + t / 32] = mine[0];
}
