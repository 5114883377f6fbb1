// hazard: ldmatrix reads rows that nobody has written, and what came of them is not stored
// source: pattern of tiles of which only the first rows are in use
// verdict: right
// why: a value that is unset is no fault until something depends on it
// expect: nothing
// launch: --arch compute_80 --grid 1 --block 32 --arg in:u32[128]=range --arg out:u32[96] --expect out=range

#define AT(p) ((unsigned)__cvta_generic_to_shared(p))
#define LDMATRIX(r, p) \
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), \
        "=r"(r[3]) : "r"(AT(p)) : "memory")

extern "C" __global__ void kernel(const uint4* in, unsigned* out) {
    __shared__ __align__(128) uint4 rows[32];
    int lane = threadIdx.x;
    if (lane < 24) {
        rows[lane] = in[lane];
    }
    __syncwarp();
    unsigned r[4];
    LDMATRIX(r, &rows[lane]);
    for (int i = 0; i < 3; ++i) {
        out[32 * i + lane] = r[i];
    }
}
