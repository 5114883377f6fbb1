// Even and odd blocks guard the same counter by different locks.
// exam: Race grid=16 block=32
// arg lock=u32[2]:zero counter=u32[1]:zero
extern "C" __global__ void k(unsigned *lock, unsigned *counter) {
    if (threadIdx.x) return;
    unsigned *mine = lock + blockIdx.x % 2;
    while (atomicCAS(mine, 0, 1)) {}
    __threadfence();
    *counter += 1;
    __threadfence();
    atomicExch(mine, 0);
}
