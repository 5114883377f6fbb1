// A lock by CAS and exchange, with no fence around the plain counter that it guards.
// exam: Race grid=16 block=32
// arg lock=u32[1]:zero counter=u32[1]:zero
extern "C" __global__ void k(unsigned *lock, unsigned *counter) {
    if (threadIdx.x) return;
    while (atomicCAS(lock, 0, 1)) {}
    *(volatile unsigned *)&lock[0];
    asm volatile("{ .reg .u32 x; ld.global.u32 x, [%0]; add.u32 x, x, 1; st.global.u32 [%0], x; }" ::"l"(counter) : "memory");
    atomicExch(lock, 0);
}
