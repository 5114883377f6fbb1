// Bytes of one word, of which the last was never written, taken apart and put together.
struct Pixel {
    unsigned char r, g, b, unused;
};

extern "C" __global__ void kernel(const unsigned char* A, Pixel* C) {
    __shared__ Pixel As[32];
    As[threadIdx.x].r = A[3 * threadIdx.x];
    As[threadIdx.x].g = A[3 * threadIdx.x + 1];
    As[threadIdx.x].b = A[3 * threadIdx.x + 2];
    __syncthreads();
    Pixel pixel = As[31 - threadIdx.x];
    C[threadIdx.x].r = pixel.b;
    C[threadIdx.x].g = pixel.g;
    C[threadIdx.x].b = pixel.r;
    C[threadIdx.x].unused = 0;
}
