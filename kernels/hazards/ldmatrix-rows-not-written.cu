// hazard: ldmatrix reads 32 rows of which 24 were written, and all that it read is stored
// source: pattern of tiles that are filled in part and read whole
// verdict: wrong
// wrong at: LDMATRIX(r, &rows[lane]);
// order: every order
// expect: uninitialised | result
// launch: --arch compute_80 --grid 1 --block 32 --arg in:u32[128]=range --arg out:u32[128] --expect out=range

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
    LDMATRIX(r, &rows[lane]);  // <-- here
    for (int i = 0; i < 4; ++i) {
        out[32 * i + lane] = r[i];  // <-- with
    }
}
