"""The same product on Numba's CUDA simulator, for comparison with `cargo bench -p ptx-emulator`.

    pip install numba numpy && NUMBA_ENABLE_CUDASIM=1 python3 crates/emulator/benches/numba_simulator.py
"""
import time

import numpy as np
from numba import cuda, float32

TILE = 8
N = 32


@cuda.jit
def gemm_tiled(A, B, C):
    As = cuda.shared.array((TILE, TILE), float32)
    Bs = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    row, col = cuda.blockIdx.y * TILE + ty, cuda.blockIdx.x * TILE + tx
    acc = float32(0)
    for k0 in range(0, A.shape[1], TILE):
        As[ty, tx] = A[row, k0 + tx]
        Bs[ty, tx] = B[k0 + ty, col]
        cuda.syncthreads()
        for k in range(TILE):
            acc += As[ty, k] * Bs[k, tx]
        cuda.syncthreads()
    C[row, col] = acc


a, b = np.random.rand(N, N).astype(np.float32), np.random.rand(N, N).astype(np.float32)
c = np.zeros((N, N), np.float32)
best = float("inf")
for _ in range(3):
    start = time.perf_counter()
    gemm_tiled[(N // TILE, N // TILE), (TILE, TILE)](a, b, c)
    best = min(best, time.perf_counter() - start)
assert np.allclose(c, a @ b, rtol=1e-4)
print(f"Numba's CUDA simulator, f32, {N}x{N}x{N}: {2 * N**3 / best / 1e6:.3f} MFLOP/s")
