// Analysis of the principle (the book's sources): 3 x 9 times 9 x 3, the sum of three products of 3 x 3. Wrong, twice.
//
// Each matrix is passed as its width, height, stride and elements. One block of 3 x 3 threads.
//
// Nothing holds a thread back at the end of a step: it may load the next tiles while others still read these. And the
// tile of B is looked for `width * width` elements further on at each step, which is right by luck for a B of
// three columns and for no other. Try --n 4 with the first mistake mended.
//
// lab try: --m 3 --n 3 --k 9 --args K,M,K,A,N,K,N,B,N,M,N,C --grid 1 --block 3,3 --alone

#define TILE 3

extern "C" __global__ void split_k(
    int a_width, int, int, const float* a, int b_width, int, int, const float* b, int c_width, int, int, float* c) {
    __shared__ float As[TILE][TILE];
    __shared__ float Bs[TILE][TILE];
    int row = threadIdx.y;
    int col = threadIdx.x;
    float sum = 0.0f;
    for (int i = 0; i < a_width / TILE; ++i) {
        As[row][col] = a[row * a_width + i * TILE + col];
        Bs[row][col] = b[i * b_width * b_width + row * b_width + col];
        __syncthreads();
        for (int e = 0; e < TILE; ++e) {
            sum += As[row][e] * Bs[e][col];
        }
    }
    c[row * c_width + col] = sum;
}
