// hazard: what is beyond the edge is set to zero by an ordinary store while the copy that brings it is under way
// source: https://github.com/mlc-ai/TIRx-kernels/pull/202
// verdict: wrong
// wrong at: tile[i] = 0;
// order: the copy writes after the store of zero
// expect: race
// launch: --arch compute_80 --grid 1 --block 128 --arg in:f32[512]=range --arg out:f32[512] --arg n:i32=510 --expect out[0..510]=range
// launch: --expect out[510..512]=0

#define AT(p) ((unsigned)__cvta_generic_to_shared(p))
#define CP16(to, from) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(AT(to)), "l"(from) : "memory")
#define CP_COMMIT() asm volatile("cp.async.commit_group;" ::: "memory")
#define CP_WAIT(n) asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory")

extern "C" __global__ void kernel(const float* in, float* out, int n) {
    __shared__ __align__(16) float tile[512];
    int t = threadIdx.x, other = 127 - t;
    CP16(&tile[4 * t], in + 4 * t);  // <-- with
    CP_COMMIT();
    for (int i = 4 * t; i < 4 * t + 4; ++i) {
        if (i >= n) {
            tile[i] = 0;  // <-- here
        }
    }
    CP_WAIT(0);
    __syncthreads();
    for (int i = 0; i < 4; ++i) {
        out[4 * other + i] = tile[4 * other + i];
    }
}
