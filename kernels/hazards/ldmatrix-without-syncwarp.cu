// hazard: lanes write the rows that ldmatrix reads for other lanes, with no __syncwarp between
// source: https://github.com/JustVugg/colibri/issues/1099
// verdict: wrong
// wrong at: LDMATRIX(r, &rows[lane]);
// order: a lane's row is read before the lane has written it
// expect: race | uninitialised
// launch: --arch compute_80 --grid 1 --block 32 --arg in:u32[128]=range --arg out:u32[128] --expect out=range

#define AT(p) ((unsigned)__cvta_generic_to_shared(p))
#define LDMATRIX(r, p) \
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), \
        "=r"(r[3]) : "r"(AT(p)) : "memory")

extern "C" __global__ void kernel(const uint4* in, unsigned* out) {
    __shared__ __align__(128) uint4 rows[32];
    int lane = threadIdx.x;
    rows[lane ^ 1] = in[lane ^ 1];  // <-- with
    unsigned r[4];
    LDMATRIX(r, &rows[lane]);  // <-- here
    for (int i = 0; i < 4; ++i) {
        out[32 * i + lane] = r[i];
    }
}
