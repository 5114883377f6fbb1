// What a request costs in sectors. Right.
//
// One warp computes a row of N elements from one element of A: C[0][col] = A[0][0] * B[0][col]. A lane takes every
// column at `lane_step * lane + pass_step * pass`. With 1 and 32, neighbouring lanes read neighbouring elements. With
// N / 32 and 1, each lane has a stretch of its own: --args A,B,C,N,8,1
//
// lab try: --m 1 --n 256 --k 1 --args A,B,C,N,1,32 --grid 1 --block 32 --alone --annotate

extern "C" __global__ void row(const float* A, const float* B, float* C, int N, int lane_step, int pass_step) {
    int lane = threadIdx.x;
    #pragma unroll 1
    for (int pass = 0; pass < N / 32; ++pass) {
        int col = lane * lane_step + pass * pass_step;
        float a = A[0];
        float b = B[col];
        C[col] = a * b;
    }
}
