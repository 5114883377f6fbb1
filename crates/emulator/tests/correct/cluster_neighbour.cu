// Each block of a cluster of two reads what the other one put into its shared memory.

extern "C" __global__ void __cluster_dims__(2, 1, 1) kernel(const float* A, float* C) {
    __shared__ float values[32];
    int t = threadIdx.x;
    unsigned rank = __clusterRelativeBlockRank();
    values[t] = A[blockIdx.x * 32 + t];
    __cluster_barrier_arrive();
    __cluster_barrier_wait();

    const float* theirs = (const float*)__cluster_map_shared_rank(values, rank ^ 1);
    C[blockIdx.x * 32 + t] = theirs[31 - t];
    __cluster_barrier_arrive();
    __cluster_barrier_wait();
}
