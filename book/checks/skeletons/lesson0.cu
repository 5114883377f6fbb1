// Level 0: one thread, one element.
//
//   C = A * B      A is M x K, B is K x N, C is M x N; row-major, no padding.
//
// One thread computes one element of C: it walks along a row of A and down a
// column of B, and reads both from global memory at every step.
//
// Given by LEVEL:  ELEMENT    float or double
//                  BLOCK      side of the square thread block
//                  COALESCED  1: threadIdx.x runs along a row of C; 0: down a column

using T = ELEMENT;

static_assert(BLOCK >= 1 && BLOCK * BLOCK <= 1024,
              "BLOCK * BLOCK is the number of threads per block: from 1 to 1024");

extern "C" __global__ void gemm_naive(const T* A, const T* B, T* C, int M, int N, int K) {
    // TODO: which element of C is this thread's? Neighbouring lanes of a warp differ in
    // threadIdx.x: let what they read and store lie side by side.
    int row = M;
    int col = N;

    // The grid is rounded up to whole blocks; threads beyond the edge have no element.
    if (row >= M || col >= N)
        return;

    // 2 K loads for 2 K floating-point operations, and no load is ever shared.
    // TODO: the sum of K products.
    T acc = 0;

    C[row * N + col] = acc;
}
