// One thread for one element, and 0.00001 too much in each: is that wrong? It depends on K.
//
// CUDA notes 3 (the book's sources) compare two products with an absolute tolerance of 1e-5. A sum of four products of
// numbers below 1 is known far better than that in f32; one of 1,024 products is not. These flags are for K = 4.
//
// lab try: --m 64 --n 64 --k 4 --grid cdiv(N,16),cdiv(M,16) --block 16,16 --alone

extern "C" __global__ void constant_error(const float* A, const float* B, float* C, int M, int N, int K) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || col >= N) return;
    float sum = 0.00001f;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    C[row * N + col] = sum;
}
