// Eight blocks meet at a barrier in global memory three times: count, fence, spin on the generation.
// exam: right grid=8 block=64
// arg count=u32[1]:zero generation=u32[1]:zero a=u32[512]:none b=u32[512]:none out=u32[512]:none
// gives out = (511 - (i+64)%512)
extern "C" __global__ void k(unsigned *count, volatile unsigned *generation, unsigned *a, unsigned *b, unsigned *out) {
    unsigned t = blockIdx.x * 64 + threadIdx.x;
    auto meet = [&] {
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) {
            unsigned old = *generation;
            __threadfence();
            if (atomicAdd(count, 1) == gridDim.x - 1) {
                *count = 0;
                __threadfence();
                *generation = old + 1;
            } else {
                while (*generation == old) {}
            }
            __threadfence();
        }
        __syncthreads();
    };
    a[t] = t;
    meet();
    b[t] = a[511 - t];
    meet();
    out[t] = b[(t + 64) % 512];
}
