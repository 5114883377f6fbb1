// Rows of 5 elements: only every fourth starts at a multiple of 16 bytes.
extern "C" __global__ void kernel(float* C) {
    *(float4*)(C + 5 * threadIdx.x) = make_float4(1, 2, 3, 4);
}
