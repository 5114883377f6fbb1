// A producer warp and a consumer warp hand a buffer over twice: each arrives at one named barrier and waits at the other.
// exam: right grid=1 block=64
// arg out=u32[64]:none
// gives out = (i%32) + 100*(i//32)
__device__ void arrive(int id) { asm volatile("bar.arrive %0, 64;" ::"r"(id) : "memory"); }
__device__ void wait(int id) { asm volatile("bar.sync %0, 64;" ::"r"(id) : "memory"); }
extern "C" __global__ void k(unsigned *out) {
    __shared__ unsigned buffer[32];
    int lane = threadIdx.x % 32;
    if (threadIdx.x < 32) {
        for (int round = 0; round < 2; ++round) {
            wait(2);  // empty
            buffer[lane] = lane + 100 * round;
            arrive(1);  // full
        }
    } else {
        arrive(2);
        for (int round = 0; round < 2; ++round) {
            wait(1);
            out[round * 32 + lane] = buffer[lane ^ 31] + (lane - (lane ^ 31));
            if (round == 0) arrive(2);
        }
    }
}
