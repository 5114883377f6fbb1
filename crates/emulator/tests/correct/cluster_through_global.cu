// A cluster barrier orders what its blocks do to global memory, too.

extern "C" __global__ void __cluster_dims__(2, 1, 1) kernel(float* A, float* C) {
    int t = threadIdx.x;
    A[blockIdx.x * 32 + t] += 1.0f;
    __cluster_barrier_arrive();
    __cluster_barrier_wait();
    C[blockIdx.x * 32 + t] = A[(blockIdx.x ^ 1) * 32 + 31 - t];
}
