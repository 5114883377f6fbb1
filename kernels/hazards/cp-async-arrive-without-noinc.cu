// hazard: the mbarrier counts all threads, and cp.async.mbarrier.arrive without noinc adds the arrival that it makes
// source: pattern of CUTLASS's cpasync_barrier_arrive_noinc
// verdict: wrong
// wrong at: TEST_WAIT(full, 0);
// order: every order
// expect: hang
// launch: --arch compute_80 --grid 1 --block 128 --arg in:f32[512]=range --arg out:f32[512] --expect out=range

#define AT(p) ((unsigned)__cvta_generic_to_shared(p))
#define INIT(bar, count) asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(AT(&(bar))), "r"(count) : "memory")
#define CP16(to, from) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(AT(to)), "l"(from) : "memory")
#define CP_ARRIVE(bar) asm volatile("cp.async.mbarrier.arrive.shared::cta.b64 [%0];" ::"r"(AT(&(bar))) : "memory")

#define TEST_WAIT(bar, parity) \
    asm volatile("{\n.reg .pred done;\nAGAIN:\nmbarrier.test_wait.parity.shared.b64 done, [%0], %1;\n@!done bra AGAIN;\n}" ::"r"( \
        AT(&(bar))), "r"(parity) : "memory")

extern "C" __global__ void kernel(const float* in, float* out) {
    __shared__ __align__(16) float tile[512];
    __shared__ unsigned long long full;
    int t = threadIdx.x, other = 127 - t;
    if (t == 0) {
        INIT(full, 128);
    }
    __syncthreads();
    CP16(&tile[4 * t], in + 4 * t);
    CP_ARRIVE(full);  // <-- with
    TEST_WAIT(full, 0);  // <-- here
    for (int i = 0; i < 4; ++i) {
        out[4 * other + i] = tile[4 * other + i];
    }
}
