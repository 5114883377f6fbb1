// A pointer into one of two shared arrays, chosen while the kernel runs.
extern "C" __global__ void kernel(const float* A, float* C, int n) {
    __shared__ float As[64];
    __shared__ float Bs[32];
    As[threadIdx.x] = A[threadIdx.x];
    if (threadIdx.x < 32) Bs[threadIdx.x] = 2 * A[threadIdx.x];
    __syncthreads();
    const float* from = threadIdx.x % 2 == n ? As : Bs;
    C[threadIdx.x] = from[threadIdx.x / 2] + (As + 64)[-1 - (int)threadIdx.x];
}
