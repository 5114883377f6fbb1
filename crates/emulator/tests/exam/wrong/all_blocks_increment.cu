// Every block adds 1 to one global cell, without an atomic.
// exam: Race grid=8 block=32
// arg sum=u32[1]:zero
extern "C" __global__ void k(unsigned *sum) {
    if (threadIdx.x == 0) *sum += 1;
}
