// Copies one matrix or two to where tensor maps can say them: each row to the beginning of a line;
// and C from such a place to its own.
//
// A thread makes words of 4 bytes of a copy, from whole elements: those may lie anywhere. A warp
// has 512 bytes of a row, so that reads and writes are of neighbours, and a block of 32 x 8
// threads has as much of 8 rows. The first blocks have the first matrix.

struct Matrix {
    const void* from;
    void* to;
    long long leading;  // elements from a row to the next
    long long pitch;    // bytes, in the copy
    int rows;
    int columns;
    int across;  // blocks for 8 rows
    int blocks;  // for all
};
constexpr int WORDS = 4;  // of a thread

template <typename T>
__device__ void copy(const Matrix& a, const Matrix& b) {
    constexpr int EACH = 4 / sizeof(T);  // elements of a word
    bool second = blockIdx.x >= a.blocks;
    // One by one: the structure that is chosen would have to be put into memory first.
    const T* from = (const T*)(second ? b.from : a.from);
    char* to = (char*)(second ? b.to : a.to);
    int rows = second ? b.rows : a.rows;
    int columns = second ? b.columns : a.columns;
    int across = second ? b.across : a.across;
    int block = second ? blockIdx.x - a.blocks : blockIdx.x;
    int row = block / across * 8 + threadIdx.y;
    int first = block % across * WORDS * 32 + threadIdx.x;
    if (row >= rows)
        return;
    from += row * (second ? b.leading : a.leading);
    to += row * (second ? b.pitch : a.pitch);
    unsigned words[WORDS] = {};
    #pragma unroll
    for (int i = 0; i < WORDS; ++i)
        #pragma unroll
        for (int e = 0; e < EACH; ++e) {
            int column = (first + i * 32) * EACH + e;
            if (column < columns)
                words[i] |= (unsigned)from[column] << 8 * sizeof(T) * e;
        }
    #pragma unroll
    for (int i = 0; i < WORDS; ++i)
        if ((first + i * 32) * EACH < columns)
            ((unsigned*)to)[first + i * 32] = words[i];
}

// Rows of a copy to where C lies. The pitch is C's.
template <typename T>
__device__ void copy_out(const Matrix& a) {
    constexpr int EACH = 4 / sizeof(T);
    int row = blockIdx.x / a.across * 8 + threadIdx.y;
    int first = blockIdx.x % a.across * WORDS * EACH * 32 + threadIdx.x;
    if (row >= a.rows)
        return;
    const T* from = (const T*)a.from + row * a.leading;
    T* to = (T*)((char*)a.to + row * a.pitch);
    #pragma unroll
    for (int i = 0; i < WORDS * EACH; ++i)
        if (first + i * 32 < a.columns)
            to[first + i * 32] = from[first + i * 32];
}

// Elements of a byte, of two, of four.
extern "C" __global__ void copy_1(const Matrix a, const Matrix b) {
    copy<unsigned char>(a, b);
}

extern "C" __global__ void copy_2(const Matrix a, const Matrix b) {
    copy<unsigned short>(a, b);
}

extern "C" __global__ void copy_4(const Matrix a, const Matrix b) {
    copy<unsigned>(a, b);
}

extern "C" __global__ void copy_out_2(const Matrix a) {
    copy_out<unsigned short>(a);
}

extern "C" __global__ void copy_out_4(const Matrix a) {
    copy_out<unsigned>(a);
}
