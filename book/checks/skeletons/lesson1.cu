// Level 1: shared-memory tiling.
//
//   C = A * B      A is M x K, B is K x N, C is M x N; row-major, no padding.
//
// One thread block computes one TILE x TILE tile of C; one thread, one element.
// The block walks K in steps of TILE. At each step it stages a tile of A and a
// tile of B in shared memory; each staged element is then read TILE times.
//
// Given by LEVEL:  ELEMENT  float or double
//                  TILE     side of the tile; also the side of the thread block

using T = ELEMENT;

static_assert(TILE >= 1 && TILE * TILE <= 1024,
              "TILE * TILE is the number of threads per block: from 1 to 1024");

extern "C" __global__ void gemm_tiled(const T* A, const T* B, T* C, int M, int N, int K) {
    // TODO: a tile of A and a tile of B in shared memory.

    int ty = threadIdx.y;
    int tx = threadIdx.x;
    int row = blockIdx.y * TILE + ty;
    int col = blockIdx.x * TILE + tx;

    // TODO: walk K in steps of TILE. In each, every thread loads one element of both tiles, with a
    // zero beyond the edge; then TILE products come from shared memory. Where do barriers stand?
    T acc = 0;
    for (int k = 0; k < K; ++k)
        acc += (row < M ? A[row * K + k] : T(0)) * (col < N ? B[k * N + col] : T(0));

    if (row < M && col < N)
        C[row * N + col] = acc;
}
