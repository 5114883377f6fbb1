// A lock in shared memory guards a plain shared counter; acquire and release at cta scope are enough.
// exam: right grid=2 block=128
// arg out=u32[2]:none
// gives out = 128
extern "C" __global__ void k(unsigned *out) {
    __shared__ unsigned lock, counter;
    if (threadIdx.x == 0) lock = counter = 0;
    __syncthreads();
    for (bool done = false; !done;) {
        if (atomicCAS_block(&lock, 0, 1) == 0) {
            __threadfence_block();
            counter += 1;
            __threadfence_block();
            atomicExch_block(&lock, 0);
            done = true;
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = counter;
}
