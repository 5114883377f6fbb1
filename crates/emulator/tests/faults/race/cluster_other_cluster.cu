// Two clusters write one place: a cluster barrier orders nothing between them.

extern "C" __global__ void __cluster_dims__(2, 1, 1) kernel(float* C) {
    int t = threadIdx.x;
    __cluster_barrier_arrive();
    __cluster_barrier_wait();
    C[(blockIdx.x & 1) * 32 + t] = blockIdx.x;
}
