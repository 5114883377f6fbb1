// A histogram whose bins lie in the shared memory of all four blocks of a cluster.

extern "C" __global__ void __cluster_dims__(4, 1, 1) kernel(const int* A, float* C) {
    __shared__ int bins[8];
    int t = threadIdx.x;
    if (t < 8) bins[t] = 0;
    __cluster_barrier_arrive();
    __cluster_barrier_wait();

    // 32 bins, 8 in each block.
    int bin = A[blockIdx.x * 64 + t] % 32;
    int* theirs = (int*)__cluster_map_shared_rank(bins, bin / 8);
    atomicAdd(theirs + bin % 8, 1);

    __cluster_barrier_arrive();
    __cluster_barrier_wait();
    if (t < 8) C[blockIdx.x * 8 + t] = bins[t];
}
