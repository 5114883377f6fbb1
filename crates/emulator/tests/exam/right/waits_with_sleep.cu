// A warp polls a flag with __nanosleep between looks, until another warp that has long work has set it.
// exam: right grid=1 block=64
// arg out=u32[1]:none
// gives out = (__import__('functools').reduce(lambda x, _: (x*5 + 1) & 0xffffffff, range(20000), 1))
extern "C" __global__ void k(unsigned *out) {
    __shared__ unsigned value, flag;
    if (threadIdx.x == 0) flag = 0;
    __syncthreads();
    if (threadIdx.x == 32) {
        unsigned x = 1;
#pragma unroll 1
        for (int i = 0; i < 20000; ++i) x = x * 5 + 1;
        value = x;
        __threadfence_block();
        atomicExch(&flag, 1);
    } else if (threadIdx.x == 0) {
        while (atomicAdd(&flag, 0) == 0) __nanosleep(100);
        __threadfence_block();
        *out = value;
    }
}
