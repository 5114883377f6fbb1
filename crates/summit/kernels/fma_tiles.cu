// fma_tiles: shared-memory tiling.
//
//   C = A * B      A is M x K, B is K x N, C is M x N; row-major, no padding.
//
// One thread block computes one TILE x TILE tile of C; one thread, one element.
// The block walks K in steps of TILE. At each step it stages a tile of A and a
// tile of B in shared memory; each staged element is then read TILE times.
//
// Given by KERNEL: ELEMENT  float or double
//                  TILE     side of the tile; also the side of the thread block

using T = ELEMENT;

static_assert(TILE >= 1 && TILE * TILE <= 1024,
              "TILE * TILE is the number of threads per block: from 1 to 1024");

extern "C" __global__ void gemm_tiled(const T* A, const T* B, T* C, int M, int N, int K) {
    __shared__ __align__(16) T As[TILE][TILE];
    __shared__ __align__(16) T Bs[TILE][TILE];

    // ANCHOR: mapping
    int ty = threadIdx.y;
    int tx = threadIdx.x;
    int row = blockIdx.y * TILE + ty;
    int col = blockIdx.x * TILE + tx;
    // ANCHOR_END: mapping

    // ANCHOR: mainloop
    T acc = 0;
    for (int k0 = 0; k0 < K; k0 += TILE) {
        // Load: one element of each tile per thread. Beyond the edge stands a
        // zero, which adds nothing, so no thread may leave before the last barrier.
        As[ty][tx] = row < M && k0 + tx < K ? A[row * K + k0 + tx] : T(0);
        Bs[ty][tx] = k0 + ty < K && col < N ? B[(k0 + ty) * N + col] : T(0);
        __syncthreads();  // both tiles are full

        // Compute: TILE steps from shared memory.
        #pragma unroll
        for (int k = 0; k < TILE; ++k) {
            acc += As[ty][k] * Bs[k][tx];
        }
        __syncthreads();  // everyone has read the tiles: they may be overwritten
    }
    // ANCHOR_END: mainloop

    // ANCHOR: epilogue
    if (row < M && col < N)
        C[row * N + col] = acc;
    // ANCHOR_END: epilogue
}
