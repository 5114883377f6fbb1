// Lab report 10 (the book's sources): "the whole row and column" in shared memory. Wrong.
//
// The report times this kernel and finds it slower than tiles. It is not slower, it is another computation: As has one
// dimension, so the rows of a block all write the same TILE elements, and Bs likewise for its columns. What is
// left there belongs to one row and one column, and the others sum it, too.
//
// A question to think about before you look: how many rows of a block read the elements of A that are theirs?
//
// lab try: --dtype f64 --args C,A,B,M,K,N --grid cdiv(N,16),cdiv(M,16) --block 16,16

#define TILE 16

extern "C" __global__ void multiply_row_and_column(
    double* C, const double* A, const double* B, int m, int n, int k) {
    __shared__ double As[TILE];
    __shared__ double Bs[TILE];
    int row = blockIdx.y * TILE + threadIdx.y;
    int col = blockIdx.x * TILE + threadIdx.x;
    double sum = 0.0;
    for (int first = 0; first < n; first += TILE) {
        As[threadIdx.x] = row < m && first + threadIdx.x < n ? A[row * n + first + threadIdx.x] : 0.0;
        Bs[threadIdx.y] = col < k && first + threadIdx.y < n ? B[(first + threadIdx.y) * k + col] : 0.0;
        __syncthreads();
        for (int i = 0; i < TILE; ++i) {
            sum += As[i] * Bs[i];
        }
        __syncthreads();
    }
    if (row < m && col < k) C[row * k + col] = sum;
}
