// A thread waits for a flag that would be set in a branch that this launch does not take.
// exam: NoProgress|Barrier grid=2 block=32
// arg flag=u32[1]:zero out=u32[1]:none n=i32:2
extern "C" __global__ void k(unsigned *flag, unsigned *out, int n) {
    if (threadIdx.x) return;
    if ((int)blockIdx.x >= n) atomicExch(flag, 1);
    if (blockIdx.x == 0) {
        while (atomicAdd(flag, 0) == 0) {}
        *out = 1;
    }
}
