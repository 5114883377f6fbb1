// hazard: the copy at the edge is given its size in elements, where bytes are asked: zeros come in place of data
// source: https://github.com/apache/tvm/pull/19741
// verdict: wrong
// wrong at: CP16_PART(&tile[4 * t], in + 4 * t, size);
// order: every order
// expect: result
// launch: --arch compute_80 --grid 1 --block 128 --arg in:f32[510]=range --arg out:f32[512] --arg n:i32=510 --expect out[0..510]=range

#define AT(p) ((unsigned)__cvta_generic_to_shared(p))
#define CP16_PART(to, from, bytes) \
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(AT(to)), "l"(from), "r"(bytes) : "memory")
#define CP_COMMIT() asm volatile("cp.async.commit_group;" ::: "memory")
#define CP_WAIT(n) asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory")

extern "C" __global__ void kernel(const float* in, float* out, int n) {
    __shared__ __align__(16) float tile[512];
    int t = threadIdx.x, other = 127 - t;
    int left = n - 4 * t;
    int size = left >= 4 ? 16 : left > 0 ? left : 0;
    CP16_PART(&tile[4 * t], in + 4 * t, size);  // <-- here
    CP_COMMIT();
    CP_WAIT(0);
    __syncthreads();
    for (int i = 0; i < 4; ++i) {
        out[4 * other + i] = tile[4 * other + i];
    }
}
