// The kernel of analysis-split-k.cu with its barrier mended and its inner loop as it was printed. Wrong.
//
// The loop goes over the size of the matrix, 9, where a tile has 3: it reads beyond both tiles.
//
// lab try: --m 3 --n 3 --k 9 --args K,M,K,A,N,K,N,B,N,M,N,C --grid 1 --block 3,3 --alone

#define TILE 3
#define MATRIX 9

extern "C" __global__ void split_k_loop(
    int a_width, int, int, const float* a, int b_width, int, int, const float* b, int c_width, int, int, float* c) {
    __shared__ __align__(16) float As[TILE][TILE];
    __shared__ __align__(16) float Bs[TILE][TILE];
    int row = threadIdx.y;
    int col = threadIdx.x;
    float sum = 0.0f;
    for (int i = 0; i < a_width / TILE; ++i) {
        As[row][col] = a[row * a_width + i * TILE + col];
        Bs[row][col] = b[(i * TILE + row) * b_width + col];
        __syncthreads();  // both tiles are full
        // ANCHOR: mistake
        #pragma unroll 1
        for (int e = 0; e < MATRIX; ++e) {
            sum += As[row][e] * Bs[e][col];
        }
        // ANCHOR_END: mistake
        __syncthreads();  // everyone has read the tiles
    }
    c[row * c_width + col] = sum;
}
