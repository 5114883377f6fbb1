// Sums of neighbours with weights from constant memory, and a count of how many were negative in a variable of the device.
//
// lab sanitize: --variable weights:f32={1,2,1} --variable negative:i32 --grid 2 --block 32
// lab sanitize: --arg in:f32[66]=range --arg out:f32[64] --print out[0..4] --print negative
// lab sanitize: --expect out[63]=256 --expect negative=0

__constant__ float weights[3];
__device__ int negative;

extern "C" __global__ void weighted_sum(const float* in, float* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = weights[0] * in[i] + weights[1] * in[i + 1] + weights[2] * in[i + 2];
    if (sum < 0.0f) atomicAdd(&negative, 1);
    out[i] = sum;
}
