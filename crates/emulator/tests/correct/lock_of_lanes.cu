// A spin lock among the lanes of a warp: each has its turn, since the others make progress while it waits.
extern "C" __global__ void kernel(int* lock, volatile float* C) {
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    __threadfence();
    C[0] += threadIdx.x;
    __threadfence();
    atomicExch(lock, 0);
    __syncthreads();
    if (threadIdx.x == 0) C[1] = C[0];
}
