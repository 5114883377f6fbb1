// All blocks count in one global counter by red.cta: at that scope they are not atomic to each other.
// exam: Race grid=8 block=64
// arg counter=u32[1]:zero
extern "C" __global__ void k(unsigned *counter) {
    asm volatile("red.relaxed.cta.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
}
