// A spin lock among lanes of one warp: the lane that holds it waits for those that spin.
extern "C" __global__ void kernel(int* lock, float* C) {
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    __syncwarp();
    C[0] += 1;
    atomicExch(lock, 0);
}
