// Analysis of the principle (the book's sources): many blocks, one tile of C each. Wrong off the tiles.
//
// Each matrix is passed as its width, height, stride and elements. The walk along K has `width / TILE` steps, which
// leaves the last part out where TILE does not divide K. Rows and columns have no guard: M and N must be
// multiples of TILE, as they are in these flags. --k 128 is right; --m 250 with
// --grid cdiv(N,16),cdiv(M,16) reads past the end of A.
//
// lab try: --m 256 --n 160 --k 130 --args K,M,K,A,N,K,N,B,N,M,N,C --grid N/16,M/16 --block 16,16

#define TILE 16

__device__ const float* tile_of(const float* elements, int stride, int row, int col) {
    return &elements[stride * TILE * row + TILE * col];
}

extern "C" __global__ void tile_by_tile(
    int a_width, int, int a_stride, const float* a, int, int, int b_stride, const float* b, int, int, int c_stride,
    float* c) {
    int row = threadIdx.y;
    int col = threadIdx.x;
    float sum = 0.0f;
    for (int step = 0; step < a_width / TILE; ++step) {
        const float* a_tile = tile_of(a, a_stride, blockIdx.y, step);
        const float* b_tile = tile_of(b, b_stride, step, blockIdx.x);
        __shared__ float As[TILE][TILE];
        __shared__ float Bs[TILE][TILE];
        As[row][col] = a_tile[row * a_stride + col];
        Bs[row][col] = b_tile[row * b_stride + col];
        __syncthreads();  // both tiles are full
        for (int e = 0; e < TILE; ++e) sum += As[row][e] * Bs[e][col];
        __syncthreads();  // everyone has read the tiles
    }
    c[(blockIdx.y * TILE + row) * c_stride + blockIdx.x * TILE + col] = sum;
}
