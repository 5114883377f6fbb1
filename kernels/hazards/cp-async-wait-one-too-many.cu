// hazard: of three stages two copies are under way, and wait_group 2 waits for none of them
// source: https://github.com/csarofeen/pytorch/issues/2463
// verdict: wrong
// wrong at: out[512 * s + 4 * other + i] = stage[s % 3][4 * other + i];
// order: a stage is read before the copies have written it
// expect: race | uninitialised
// launch: --arch compute_80 --grid 1 --block 128 --arg in:f32[4096]=range --arg out:f32[4096] --arg steps:i32=8 --expect out=range

#define AT(p) ((unsigned)__cvta_generic_to_shared(p))
#define CP16(to, from) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(AT(to)), "l"(from) : "memory")
#define CP_COMMIT() asm volatile("cp.async.commit_group;" ::: "memory")
#define CP_WAIT(n) asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory")

extern "C" __global__ void kernel(const float* in, float* out, int steps) {
    __shared__ __align__(16) float stage[3][512];
    int t = threadIdx.x, other = 127 - t;
    for (int s = 0; s < 2; ++s) {
        if (s < 2) {
            CP16(&stage[s][4 * t], in + 512 * s + 4 * t);
        }
        CP_COMMIT();
    }
    for (int s = 0; s < steps; ++s) {
        CP_WAIT(2);
        __syncthreads();
        if (s + 2 < steps) {
            CP16(&stage[(s + 2) % 3][4 * t], in + 512 * (s + 2) + 4 * t);  // <-- with
        }
        CP_COMMIT();
        for (int i = 0; i < 4; ++i) {
            out[512 * s + 4 * other + i] = stage[s % 3][4 * other + i];  // <-- here
        }
    }
}
