// The transpose of a matrix, by tiles in shared memory. The first launch turns it, the second one turns it back.
//
// lab sanitize: --set rows=70 --set columns=45 --block 16,16 --expect back=range
// lab sanitize: --launch transpose --grid cdiv(columns,16),cdiv(rows,16)
// lab sanitize: --arg in:f32[rows*columns]=range --arg turned:f32[rows*columns] --arg {i32=rows,i32=columns}
// lab sanitize: --launch transpose --grid cdiv(rows,16),cdiv(columns,16)
// lab sanitize: --arg turned --arg back:f32[rows*columns] --arg {i32=columns,i32=rows}

#define TILE 16

struct Shape {
    int rows, columns;
};

extern "C" __global__ void transpose(const float* in, float* out, Shape shape) {
    __shared__ float tile[TILE][TILE + 1];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
    if (row < shape.rows && col < shape.columns) tile[ty][tx] = in[row * shape.columns + col];
    __syncthreads();  // the tile is full
    row = blockIdx.x * TILE + ty;
    col = blockIdx.y * TILE + tx;
    if (row < shape.columns && col < shape.rows) out[row * shape.rows + col] = tile[tx][ty];
}
