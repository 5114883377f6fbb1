// Clusters of 2 x 2: each block adds up what the four wrote, by rank, in a grid of two clusters.

extern "C" __global__ void __cluster_dims__(2, 2, 1) kernel(float* C) {
    __shared__ float value;
    dim3 at = __clusterRelativeBlockIdx();
    dim3 size = __clusterDim();
    unsigned rank = __clusterRelativeBlockRank();
    if (threadIdx.x == 0) value = 10.0f * blockIdx.x + blockIdx.y + (rank == at.x + size.x * at.y ? 0 : 1000);
    __cluster_barrier_arrive();
    __cluster_barrier_wait();

    if (threadIdx.x == 0) {
        float sum = 0;
        for (unsigned r = 0; r < 4; ++r) sum += *(float*)__cluster_map_shared_rank(&value, r);
        C[blockIdx.y * gridDim.x + blockIdx.x] = sum;
    }
    __cluster_barrier_arrive();
    __cluster_barrier_wait();
}
