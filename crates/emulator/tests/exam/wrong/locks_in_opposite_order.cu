// Two blocks each take a lock of their own, wait until the other has its lock, too, and then want that one.
// exam: NoProgress|Barrier grid=2 block=32
// arg lock=u32[2]:zero held=u32[1]:zero out=u32[2]:none
extern "C" __global__ void k(unsigned *lock, unsigned *held, unsigned *out) {
    if (threadIdx.x) return;
    unsigned b = blockIdx.x;
    while (atomicCAS(&lock[b], 0, 1)) {}
    __threadfence();
    atomicAdd(held, 1);
    while (atomicAdd(held, 0) < 2) {}
    while (atomicCAS(&lock[1 - b], 0, 1)) {}
    out[b] = 1;
    __threadfence();
    atomicExch(&lock[0], 0);
    atomicExch(&lock[1], 0);
}
