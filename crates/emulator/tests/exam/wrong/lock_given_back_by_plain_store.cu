// A lock that is taken properly, and given back by a plain store before the fence.
// exam: Race grid=16 block=32
// arg lock=u32[1]:zero counter=u32[1]:zero
extern "C" __global__ void k(unsigned *lock, unsigned *counter) {
    if (threadIdx.x) return;
    while (atomicCAS(lock, 0, 1)) {}
    __threadfence();
    *counter += 1;
    asm volatile("st.global.u32 [%0], 0;" ::"l"(lock) : "memory");
    __threadfence();
}
