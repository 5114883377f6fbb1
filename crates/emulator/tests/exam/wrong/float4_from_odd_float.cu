// float4 loads from a float's address that is no multiple of 16.
// exam: Misaligned grid=1 block=8
// arg in=f32[64]:ramp out=f32[8]:none
extern "C" __global__ void k(const float *in, float *out) {
    float4 v = *(const float4 *)(in + 1 + 4 * threadIdx.x);
    out[threadIdx.x] = v.x + v.w;
}
