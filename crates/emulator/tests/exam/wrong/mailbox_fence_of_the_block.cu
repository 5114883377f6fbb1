// Writer and reader are in different blocks, and fence with __threadfence_block.
// exam: Race grid=2 block=32
// arg data=u32[1]:none flag=u32[1]:zero out=u32[1]:none
extern "C" __global__ void k(unsigned *data, volatile unsigned *flag, unsigned *out) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        *data = 4711;
        __threadfence_block();
        *flag = 1;
    } else {
        while (*flag == 0) {}
        __threadfence_block();
        *out = *data;
    }
}
