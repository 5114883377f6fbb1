// Lanes from 20 on leave; the others add what lies 16 lanes above, as if it were still there.
// exam: Barrier|Uninitialised grid=1 block=32
// arg out=u32[32]:zero n=i32:20
extern "C" __global__ void k(unsigned *out, int n) {
    int t = threadIdx.x;
    if (t >= n) return;
    unsigned v = t;
    v += __shfl_down_sync(0xffffffffu, v, 16);
    out[t] = v;
}
