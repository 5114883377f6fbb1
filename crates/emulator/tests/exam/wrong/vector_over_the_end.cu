// float4 loads of 62 floats: the last one begins inside and ends outside.
// exam: OutOfBounds grid=1 block=16
// arg in=f32[62]:ramp out=f32[16]:none
extern "C" __global__ void k(const float *in, float *out) {
    float4 v = ((const float4 *)in)[threadIdx.x];
    out[threadIdx.x] = v.x + v.y + v.z + v.w;
}
