// What a shared-memory request costs in wavefronts. Right.
//
// One warp multiplies a matrix of 32 x 32 by a column: lane m sums row m. As holds row m from word `width * m` on, so
// lane m reads the word `width * m + k`. With rows of 32 words all lanes meet in one bank; with rows of
// 33 no two do: --args A,B,C,33
//
// lab try: --m 32 --n 1 --k 32 --args A,B,C,32 --grid 1 --block 32 --alone --annotate

extern "C" __global__ void column(const float* A, const float* B, float* C, int width) {
    __shared__ __align__(16) float As[32 * 40];
    int lane = threadIdx.x;
    #pragma unroll 1
    for (int m = 0; m < 32; ++m) {
        As[width * m + lane] = A[32 * m + lane];
    }
    __syncthreads();  // all rows are there
    float sum = 0.0f;
    #pragma unroll 1
    for (int k = 0; k < 32; ++k) {
        float a = As[width * lane + k];
        sum += a * B[k];
    }
    C[lane] = sum;
}
