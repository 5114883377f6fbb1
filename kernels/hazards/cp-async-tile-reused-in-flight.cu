// hazard: a prefetch that nobody needs is still under way when its stage becomes the tile of the results
// source: https://github.com/NVIDIA/Fuser/issues/2000
// verdict: wrong
// wrong at: stage[1][4 * t + i] = stage[0][4 * t + i];
// order: the prefetch writes over the results
// expect: race
// launch: --arch compute_80 --grid 1 --block 128 --arg in:f32[1024]=range --arg out:f32[512] --expect out=range

#define AT(p) ((unsigned)__cvta_generic_to_shared(p))
#define CP16(to, from) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(AT(to)), "l"(from) : "memory")
#define CP_COMMIT() asm volatile("cp.async.commit_group;" ::: "memory")
#define CP_WAIT(n) asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory")

extern "C" __global__ void kernel(const float* in, float* out) {
    __shared__ __align__(16) float stage[2][512];
    int t = threadIdx.x, other = 127 - t;
    for (int s = 0; s < 2; ++s) {
        CP16(&stage[s][4 * t], in + 512 * s + 4 * t);  // <-- with
        CP_COMMIT();
    }
    CP_WAIT(1);
    __syncthreads();
    for (int i = 0; i < 4; ++i) {
        stage[1][4 * t + i] = stage[0][4 * t + i];  // <-- here
    }
    __syncthreads();
    for (int i = 0; i < 4; ++i) {
        out[4 * other + i] = stage[1][4 * other + i];
    }
    CP_WAIT(0);
}
