// Each block writes one element of the next block's part, too, with another value.
extern "C" __global__ void kernel(float* C) {
    int i = blockIdx.x * 31 + threadIdx.x;
    C[i] = blockIdx.x + 1;
}
