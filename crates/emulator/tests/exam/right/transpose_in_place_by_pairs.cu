// A square is transposed in place: each pair of elements is swapped by the one thread that owns it.
// exam: right grid=4 block=64
// arg a=u32[256]:ramp
// gives a = i%16*16 + i//16
extern "C" __global__ void k(unsigned *a) {
    unsigned t = blockIdx.x * 64 + threadIdx.x, row = t / 16, col = t % 16;
    if (row < col) {
        unsigned x = a[row * 16 + col];
        a[row * 16 + col] = a[col * 16 + row];
        a[col * 16 + row] = x;
    }
}
