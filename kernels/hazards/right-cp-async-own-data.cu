// hazard: each thread reads only what its own copies brought, behind its own wait and with no block barrier
// source: https://github.com/NVIDIA/Fuser/issues/3428
// verdict: right
// why: wait_group makes a thread's own copies visible to that thread
// expect: nothing
// launch: --arch compute_80 --grid 1 --block 128 --arg in:f32[512]=range --arg out:f32[512] --expect out=range

#define AT(p) ((unsigned)__cvta_generic_to_shared(p))
#define CP16(to, from) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(AT(to)), "l"(from) : "memory")
#define CP_COMMIT() asm volatile("cp.async.commit_group;" ::: "memory")
#define CP_WAIT(n) asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory")

extern "C" __global__ void kernel(const float* in, float* out) {
    __shared__ __align__(16) float tile[512];
    int t = threadIdx.x;
    CP16(&tile[4 * t], in + 4 * t);
    CP_COMMIT();
    CP_WAIT(0);
    for (int i = 0; i < 4; ++i) {
        out[4 * t + i] = tile[4 * t + i];
    }
}
