// Three stages of cp.async: a group per stage, empty groups at the end so that the same wait is right, two barriers per step.
// exam: right grid=2 block=64 sm=80
// arg in=u32[1024]:ramp out=u32[128]:none
// gives out = sum((i//64)*512 + s*64 + (63 - i%64) for s in range(8))
__device__ void copy4(unsigned *to, const unsigned *from) {
    unsigned at = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at), "l"(from) : "memory");
}
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
    __shared__ unsigned tile[3][64];
    unsigned t = threadIdx.x, sum = 0;
    in += blockIdx.x * 512;
    for (int s = 0; s < 2; ++s) {
        copy4(&tile[s][t], in + s * 64 + t);
        asm volatile("cp.async.commit_group;" ::: "memory");
    }
    for (int s = 0; s < 8; ++s) {
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        if (s + 2 < 8) copy4(&tile[(s + 2) % 3][t], in + (s + 2) * 64 + t);
        asm volatile("cp.async.commit_group;" ::: "memory");
        sum += tile[s % 3][63 - t];
    }
    out[blockIdx.x * 64 + t] = sum;
}
