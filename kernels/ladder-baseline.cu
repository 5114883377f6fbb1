// The ladder of the CUDA basics (the book's sources): its baseline, one thread for one element. Right.
//
// Each matrix is passed as its elements and its two sizes.
//
// lab try: --args A,M,K,B,K,N,C,M,N --grid cdiv(N,32),cdiv(M,32) --block 32,32

extern "C" __global__ void baseline(
    const float* a, int a_rows, int a_cols, const float* b, int, int b_cols, float* c, int, int c_cols) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= a_rows || col >= b_cols) return;
    float sum = 0.0f;
    for (int k = 0; k < a_cols; ++k) sum += a[row * a_cols + k] * b[k * b_cols + col];
    c[row * c_cols + col] = sum;
}
