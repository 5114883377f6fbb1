// hazard: each thread waits for its own copies and reads another's: no block barrier between
// source: https://github.com/NVIDIA/Fuser/issues/3428
// verdict: wrong
// wrong at: out[4 * other + i] = tile[4 * other + i];
// order: a thread reads what another's copy has not written yet
// expect: race | uninitialised
// launch: --arch compute_80 --grid 1 --block 128 --arg in:f32[512]=range --arg out:f32[512] --expect out=range

#define AT(p) ((unsigned)__cvta_generic_to_shared(p))
#define CP16(to, from) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(AT(to)), "l"(from) : "memory")
#define CP_COMMIT() asm volatile("cp.async.commit_group;" ::: "memory")
#define CP_WAIT(n) asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory")

extern "C" __global__ void kernel(const float* in, float* out) {
    __shared__ __align__(16) float tile[512];
    int t = threadIdx.x, other = 127 - t;
    CP16(&tile[4 * t], in + 4 * t);  // <-- with
    CP_COMMIT();
    CP_WAIT(0);
    for (int i = 0; i < 4; ++i) {
        out[4 * other + i] = tile[4 * other + i];  // <-- here
    }
}
