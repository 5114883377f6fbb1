// 16-byte loads from byte addresses that turn out to be multiples of 16.
// exam: right grid=1 block=16
// arg in=u8[256]:ramp out=u32[16]:none
// gives out = sum((16*i+4*j+b)<<(8*b) for j in range(4) for b in range(4)) & 0xffffffff
extern "C" __global__ void k(const unsigned char *in, unsigned *out) {
    unsigned t = threadIdx.x;
    uint4 v = *(const uint4 *)(in + t * 12 + t * 4);
    out[t] = v.x + v.y + v.z + v.w;
}
