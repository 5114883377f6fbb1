// CUDA notes 3 (the book's sources): the shared-memory kernel for square matrices. Right.
//
// One parameter gives all three sizes; tiles of 32 x 32, with a guard at every edge.
//
// lab try: --size 250 --args A,B,C,N --grid cdiv(N,32),cdiv(N,32) --block 32,32

#define TILE 32

extern "C" __global__ void multiply_shared(const float* A, const float* B, float* C, int width) {
    __shared__ float As[TILE][TILE], Bs[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y;
    int col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0.0f;
    for (int first = 0; first < width; first += TILE) {
        int a_col = first + threadIdx.x, b_row = first + threadIdx.y;
        As[threadIdx.y][threadIdx.x] = row < width && a_col < width ? A[row * width + a_col] : 0.0f;
        Bs[threadIdx.y][threadIdx.x] = b_row < width && col < width ? B[b_row * width + col] : 0.0f;
        __syncthreads();  // both tiles are full
        for (int k = 0; k < TILE; ++k) sum += As[threadIdx.y][k] * Bs[k][threadIdx.x];
        __syncthreads();  // everyone has read the tiles
    }
    if (row < width && col < width) C[row * width + col] = sum;
}
