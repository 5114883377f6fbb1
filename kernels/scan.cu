// Running sums of a block's numbers, each thread adding what stands 1, 2, 4, … to its left; two buffers take turns.
//
// lab sanitize: --grid 3 --block 128 --shared 2*4*128
// lab sanitize: --arg in:u32[384]=ones --arg out:u32[384] --print out[120..136] --expect out[127]=128 --expect out[383]=128

extern "C" __global__ void scan(const unsigned* in, unsigned* out) {
    extern __shared__ unsigned both[];
    int t = threadIdx.x, n = blockDim.x;
    int i = blockIdx.x * n + t;
    unsigned* from = both;
    unsigned* to = both + n;
    from[t] = in[i];
    __syncthreads();  // the first buffer is full
    for (int left = 1; left < n; left *= 2) {
        to[t] = from[t] + (t >= left ? from[t - left] : 0);
        __syncthreads();  // the other buffer is full, and nobody reads this one
        unsigned* swap = from;
        from = to;
        to = swap;
    }
    out[i] = from[t];
}
