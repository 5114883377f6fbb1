// Copies one matrix or two to where tensor maps can say them: each row to the beginning of a line.
//
// A thread makes words of 4 bytes of a copy, from whole elements: those may lie anywhere. A warp
// has 512 bytes of a row, so that reads and writes are of neighbours. Layer z of the grid has
// the z-th matrix.

struct Matrix {
    const void* from;
    void* to;
    long long leading;  // elements from a row to the next
    long long pitch;    // bytes, in the copy
    int rows;
    int columns;
};
constexpr int WORDS = 4;  // of a thread, in a row

template <typename T>
__device__ void copy(const Matrix& matrix) {
    constexpr int EACH = 4 / sizeof(T);  // elements of a word
    int first = blockIdx.x * WORDS * 32 + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    for (; row < matrix.rows; row += gridDim.y * blockDim.y) {
        const T* from = (const T*)matrix.from + row * matrix.leading;
        unsigned* to = (unsigned*)((char*)matrix.to + row * matrix.pitch);
        unsigned words[WORDS] = {};
        #pragma unroll
        for (int i = 0; i < WORDS; ++i)
            #pragma unroll
            for (int e = 0; e < EACH; ++e) {
                int column = (first + i * 32) * EACH + e;
                if (column < matrix.columns)
                    words[i] |= (unsigned)from[column] << 8 * sizeof(T) * e;
            }
        #pragma unroll
        for (int i = 0; i < WORDS; ++i)
            if ((first + i * 32) * EACH < matrix.columns)
                to[first + i * 32] = words[i];
    }
}

// Elements of a byte, of two, of four.
extern "C" __global__ void copy_1(const Matrix first, const Matrix second) {
    copy<unsigned char>(blockIdx.z ? second : first);
}

extern "C" __global__ void copy_2(const Matrix first, const Matrix second) {
    copy<unsigned short>(blockIdx.z ? second : first);
}

extern "C" __global__ void copy_4(const Matrix first, const Matrix second) {
    copy<unsigned>(blockIdx.z ? second : first);
}
