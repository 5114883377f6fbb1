// The kernel of analysis-split-k.cu with its barrier mended. Wrong for a B that is not three columns wide.
//
// The tile of B is looked for `width * width` elements further on at each step. Three rows of B are `3 * width`
// elements, the same for three columns and for no other number. Here B has six: two blocks of three columns.
//
// lab try: --m 3 --n 6 --k 9 --args K,M,K,A,N,K,N,B,N,M,N,C --grid N/3 --block 3,3 --alone

#define TILE 3

extern "C" __global__ void split_k_step(
    int a_width, int, int, const float* a, int b_width, int, int, const float* b, int c_width, int, int, float* c) {
    __shared__ __align__(16) float As[TILE][TILE];
    __shared__ __align__(16) float Bs[TILE][TILE];
    int row = threadIdx.y;
    int tile_col = threadIdx.x;
    int col = blockIdx.x * TILE + tile_col;
    float sum = 0.0f;
    for (int i = 0; i < a_width / TILE; ++i) {
        // ANCHOR: mistake
        As[row][tile_col] = a[row * a_width + i * TILE + tile_col];
        Bs[row][tile_col] = b[i * b_width * b_width + row * b_width + col];
        // ANCHOR_END: mistake
        __syncthreads();  // both tiles are full
        for (int e = 0; e < TILE; ++e) {
            sum += As[row][e] * Bs[e][tile_col];
        }
        __syncthreads();  // everyone has read the tiles
    }
    c[row * c_width + col] = sum;
}
