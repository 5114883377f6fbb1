// Kernels that `lab try` cannot call by what their text says.

struct CUtensorMap {
    unsigned long long words[16];
};

__global__ void square(const float* A, const float* B, float* C, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) C[i] = A[i] * B[i];
}

__global__ void mixed(const float* A, const double* B, float* C, int M, int N, int K) {
    if (threadIdx.x < M * N) C[threadIdx.x] = A[threadIdx.x % K] * B[threadIdx.x % K];
}

__global__ void mapped(const __grid_constant__ CUtensorMap map, float* C, int M, int N, int K) {
    if (threadIdx.x < M * N * K) C[threadIdx.x] = map.words[0];
}

__global__ void launched(const float* A, const float* B, float* C, int M, int N, int K) {
    if (threadIdx.x < M * N * K) C[threadIdx.x] = A[0] * B[0];
}

void launch(const float* A, const float* B, float* C, int M, int N, int K) {
    launched<<<N / 1000, 32>>>(A, B, C, M, N, K);
}
