// Each block adds its tile to the result, by bulk copies.

__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ void fence_proxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

__device__ void commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

__device__ void wait_all() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }

extern "C" __global__ void kernel(const float* A, float* C) {
    __shared__ __align__(128) float tile[64];
    int t = threadIdx.x;
    tile[t] = A[t] + blockIdx.x;
    fence_proxy();
    __syncthreads();
    if (t == 0) {
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(C), "r"(at(tile)),
                     "r"((int)sizeof(tile))
                     : "memory");
        commit();
        wait_all();
    }
}
