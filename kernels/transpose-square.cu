// The transpose by tiles, with the edge's guard of a square matrix. Wrong for any other: it reads past the end.
//
// lab sanitize: --set rows=70 --set columns=45 --grid cdiv(columns,16),cdiv(rows,16) --block 16,16
// lab sanitize: --arg in:f32[rows*columns]=range --arg turned:f32[rows*columns] --arg rows --arg columns

#define TILE 16

extern "C" __global__ void transpose(const float* in, float* out, int rows, int columns) {
    __shared__ float tile[TILE][TILE + 1];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
    if (row < rows && col < rows) tile[ty][tx] = in[row * columns + col];
    __syncthreads();  // the tile is full
    row = blockIdx.x * TILE + ty;
    col = blockIdx.y * TILE + tx;
    if (row < columns && col < rows) out[row * rows + col] = tile[tx][ty];
}
