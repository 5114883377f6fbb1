// The old way: plain data, __threadfence, a volatile flag; the reader spins on the volatile flag, fences, and reads.
// exam: right grid=2 block=64
// arg data=f32[2]:none flag=u32[2]:zero out=f32[2]:none
// gives out = 1.5 + i
extern "C" __global__ void k(float *data, volatile unsigned *flag, float *out) {
    unsigned w = threadIdx.x / 32;
    if (threadIdx.x % 32) return;
    if (blockIdx.x == w) {
        data[w] = 1.5f + w;
        __threadfence();
        flag[w] = 1;
    } else {
        while (flag[w] == 0) {}
        __threadfence();
        out[w] = data[w];
    }
}
