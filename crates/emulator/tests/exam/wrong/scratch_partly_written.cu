// A scratch array is written by even blocks only, and read by all in the next launch.
// exam: Uninitialised grid=4 block=32 launches=2
// arg scratch=u32[128]:none round=u32[128]:zero out=u32[128]:zero
extern "C" __global__ void k(unsigned *scratch, unsigned *round, unsigned *out) {
    unsigned t = blockIdx.x * 32 + threadIdx.x;
    if (round[t] == 0) {
        if (blockIdx.x % 2 == 0) scratch[t] = t;
    } else {
        out[t] = scratch[t] + 1;
    }
    round[t] = 1;
}
