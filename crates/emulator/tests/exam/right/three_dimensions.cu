// Grid and block of three dimensions, with tails in all of them.
// exam: right grid=2,3,2 block=4,2,3
// arg out=u32[210]:none
// gives out = i
extern "C" __global__ void k(unsigned *out) {
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x < 7 && y < 6 && z < 5) out[(z * 6 + y) * 7 + x] = (z * 6 + y) * 7 + x;
}
