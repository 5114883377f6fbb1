// Every lane of a warp takes the same lock, the release inside the loop's branch: threads advance on their own since Volta.
// exam: right grid=2 block=32
// arg lock=u32[1]:zero counter=u32[1]:zero
// gives counter = 64
extern "C" __global__ void k(unsigned *lock, unsigned *counter) {
    bool done = false;
    while (!done) {
        unsigned old;
        asm volatile("atom.acquire.gpu.global.cas.b32 %0, [%1], 0, 1;" : "=r"(old) : "l"(lock) : "memory");
        if (old == 0) {
            *counter += 1;
            asm volatile("st.release.gpu.global.u32 [%0], 0;" ::"l"(lock) : "memory");
            done = true;
        }
    }
}
