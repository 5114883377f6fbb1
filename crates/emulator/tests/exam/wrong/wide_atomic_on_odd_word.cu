// A 64-bit atomic at an address that is a multiple of 4 only.
// exam: Misaligned grid=1 block=32
// arg a=u32[8]:zero
extern "C" __global__ void k(unsigned *a) {
    atomicAdd((unsigned long long *)(a + 1), 1ull);
}
