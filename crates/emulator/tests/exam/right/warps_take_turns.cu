// Warps write one shared cell in turn, each after it has seen its number there: volatile, fences, no barrier.
// exam: right grid=1 block=128
// arg out=u32[4]:none
// gives out = i*(i+1)//2
extern "C" __global__ void k(unsigned *out) {
    __shared__ unsigned sum;
    __shared__ volatile unsigned turn;
    unsigned w = threadIdx.x / 32;
    if (threadIdx.x == 0) { turn = 0; sum = 0; }
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        while (turn != w) {}
        __threadfence_block();
        sum += w;
        out[w] = sum;
        __threadfence_block();
        turn = w + 1;
    }
}
