// fma_direct: one thread, one element.
//
//   C = A * B      A is M x K, B is K x N, C is M x N; row-major, no padding.
//
// One thread computes one element of C: it walks along a row of A and down a
// column of B, and reads both from global memory at every step.
//
// Given by KERNEL: ELEMENT    float or double
//                  BLOCK      side of the square thread block
//                  COALESCED  1: threadIdx.x runs along a row of C; 0: down a column

using T = ELEMENT;

static_assert(BLOCK >= 1 && BLOCK * BLOCK <= 1024,
              "BLOCK * BLOCK is the number of threads per block: from 1 to 1024");

extern "C" __global__ void gemm_naive(const T* A, const T* B, T* C, int M, int N, int K) {
    // ANCHOR: mapping
    // Neighbouring lanes of a warp differ in threadIdx.x: what they share, and
    // what they read side by side, is decided here.
    int row = blockIdx.y * BLOCK + (COALESCED ? threadIdx.y : threadIdx.x);
    int col = blockIdx.x * BLOCK + (COALESCED ? threadIdx.x : threadIdx.y);

    // The grid is rounded up to whole blocks; threads beyond the edge have no element.
    if (row >= M || col >= N)
        return;
    // ANCHOR_END: mapping

    // ANCHOR: mainloop
    // 2 K loads for 2 K floating-point operations, and no load is ever shared.
    T acc = 0;
    for (int k = 0; k < K; ++k) {
        acc += A[row * K + k] * B[k * N + col];
    }
    // ANCHOR_END: mainloop

    // ANCHOR: epilogue
    C[row * N + col] = acc;
    // ANCHOR_END: epilogue
}
