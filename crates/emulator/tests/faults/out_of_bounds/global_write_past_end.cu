// The guard lets one thread too many through.
extern "C" __global__ void kernel(float* C, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) C[i] = 1;
}
