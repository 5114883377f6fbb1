// hazard: elect.sync names all lanes in a branch that half of them take
// source: pattern of cute::elect_one_sync in a branch that is not the whole warp's
// verdict: wrong
// wrong at: ELECT(chosen);
// order: every order: lanes 16 to 31 never come to this election
// expect: barrier | hang
// launch: --arch compute_90a --grid 1 --block 32 --arg out:i32[1] --expect out=1

#define ELECT(chosen) \
    asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.u32 %0, 1, 0, p;\n}" : "=r"(chosen)::"memory")

extern "C" __global__ void kernel(int* out) {
    int lane = threadIdx.x;
    if (lane < 16) {
        unsigned chosen;
        ELECT(chosen);  // <-- here
        if (chosen) {
            out[0] = 1;
        }
    }
    __syncwarp();
}
