// Running sums in one buffer, with one barrier a step. Wrong: a thread adds what its neighbour may have changed already.
//
// lab sanitize: --grid 3 --block 128 --arg in:u32[384]=ones --arg out:u32[384]

extern "C" __global__ void scan(const unsigned* in, unsigned* out) {
    __shared__ unsigned sums[128];
    int t = threadIdx.x;
    int i = blockIdx.x * 128 + t;
    sums[t] = in[i];
    __syncthreads();  // the buffer is full
    for (int left = 1; left < 128; left *= 2) {
        if (t >= left) sums[t] += sums[t - left];
        __syncthreads();
    }
    out[i] = sums[t];
}
