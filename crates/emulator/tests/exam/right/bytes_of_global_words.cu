// Two blocks write the even and the odd bytes of the same global words.
// exam: right grid=2 block=32
// arg out=u8[64]:none
// gives out = i*3 & 255
extern "C" __global__ void k(unsigned char *out) {
    unsigned at = threadIdx.x * 2 + blockIdx.x;
    out[at] = at * 3;
}
