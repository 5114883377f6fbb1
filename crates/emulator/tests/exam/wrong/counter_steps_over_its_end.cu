// A loop counts down by two from an odd number until it is 0: it passes 0, and comes back to where it was.
// exam: NoProgress grid=1 block=32
// arg out=u32[32]:none n=i32:5
extern "C" __global__ void k(unsigned *out, int n) {
    unsigned char i = (unsigned char)n;
    unsigned trips = 0;
#pragma unroll 1
    while (i != 0) {
        i -= 2;
        trips ^= i;
        asm volatile("" : "+r"(trips));
    }
    out[threadIdx.x] = trips;
}
