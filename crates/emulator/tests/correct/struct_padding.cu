// Copies structs whole, padding included, through registers, shared and local memory.
struct alignas(8) Pair {
    char tag;
    float value;
};

extern "C" __global__ void kernel(const Pair* A, Pair* C, int n) {
    __shared__ Pair As[32];
    Pair mine;
    mine.tag = A[threadIdx.x].tag;
    mine.value = A[threadIdx.x].value;
    As[threadIdx.x] = mine;
    __syncthreads();
    Pair own[4];
    for (int i = 0; i < 4; ++i) own[i] = As[(threadIdx.x + i) % 32];
    Pair copy = own[n];
    C[threadIdx.x].tag = copy.tag;
    C[threadIdx.x].value = copy.value;
}
