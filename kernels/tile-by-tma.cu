// A matrix turned by tiles that the tensor memory accelerator fetches: a box of 16 rows of 32 floats, in the pattern of
// 128 bytes. What lies beyond the edge arrives as zeros, and is not written.
//
// lab sanitize: --arch compute_90 --grid 2,3 --block 128 --set rows=44 --set columns=52
// lab sanitize: --arg in:map(f32[(rows)x(columns)],box=16x32,swizzle=128)=range
// lab sanitize: --arg out:f32[rows*columns] --arg rows --arg columns
// lab sanitize: --print out[0..8] --expect out[0..3]={0,52,104} --expect out[2287]=2287

struct __align__(64) TensorMap { unsigned long long words[16]; };

__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

extern "C" __global__ void turn(const __grid_constant__ TensorMap in, float* out, int rows, int columns) {
    __shared__ __align__(1024) float tile[16 * 32];
    __shared__ unsigned long long full;
    int t = threadIdx.x, x = 32 * blockIdx.x, y = 16 * blockIdx.y;
    if (t == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(at(&full)) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();  // the mbarrier is there
    if (t == 0) {
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(at(&full)), "r"(2048) : "memory");
        asm volatile(
            "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
                at(tile)),
            "l"(&in), "r"(x), "r"(y), "r"(at(&full))
            : "memory");
    }
    asm volatile(
        "{\n.reg .pred done;\nAGAIN:\nmbarrier.try_wait.parity.shared.b64 done, [%0], 0;\n@!done bra AGAIN;\n}" ::"r"(at(&full))
        : "memory");  // the tile is full
    for (int i = t; i < 16 * 32; i += 128) {
        int row = i % 16, column = i / 16;
        int chunk = column / 4 ^ row % 8;  // chunks of 16 bytes, as the pattern has them
        if (y + row < rows && x + column < columns) {
            out[(x + column) * rows + y + row] = tile[row * 32 + chunk * 4 + column % 4];
        }
    }
}
