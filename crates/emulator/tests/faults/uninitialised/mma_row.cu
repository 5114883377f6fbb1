// Rows 8 to 15 of A are unset, and a sum of row 8 is stored.
extern "C" __global__ void kernel(const unsigned* A, float* C) {
    __shared__ unsigned As[16][4];
    int t = threadIdx.x, row = t / 4, column = 2 * (t % 4);
    As[row][t % 4] = A[t];  // rows 0 to 7
    __syncwarp();
    unsigned low = As[row][t % 4], high = As[row + 8][t % 4], b = A[32 + t];
    float c[4] = {};
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(low), "r"(high), "r"(b));
    C[8 * row + column] = c[0];
    C[8 * row + column + 1] = c[3];
}
