// One thread of each block takes a lock by CAS, fences, adds to a plain counter, fences, and gives the lock back.
// exam: right grid=16 block=32
// arg lock=u32[1]:zero counter=u32[1]:zero
// gives counter = 16
extern "C" __global__ void k(unsigned *lock, unsigned *counter) {
    if (threadIdx.x) return;
    while (atomicCAS(lock, 0, 1)) {}
    __threadfence();
    *counter += 1;
    __threadfence();
    atomicExch(lock, 0);
}
