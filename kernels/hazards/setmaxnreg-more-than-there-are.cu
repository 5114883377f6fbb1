// hazard: two warpgroups ask for 240 registers each while the third keeps its own: the register file has not so many
// source: https://github.com/tile-ai/tilelang/pull/2406
// verdict: wrong
// wrong at: asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
// order: every order
// expect: hang | barrier
// launch: --arch compute_90a --grid 1 --block 384 --arg out:i32[384] --expect out=range

extern "C" __global__ void __launch_bounds__(384, 1) kernel(int* out) {
    int t = threadIdx.x;
    if (t >= 128) {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");  // <-- here
    }
    __syncthreads();
    out[t] = t;
}
